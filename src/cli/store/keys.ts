import type { Command } from "commander";
import { iso } from "../../core/clock.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { SCOPES, type Scope } from "../../core/credential.ts";
import { newApiKey } from "../../sandbox/runtime/keys.ts";
import { newSigningSecret } from "../../sandbox/runtime/seed.ts";
import { listOption, register, type Context, type Registry } from "../command.ts";
import { newToken } from "../../host/folder/state-folder.ts";
import { parseChoice } from "../parsers.ts";
import { findId, shownBy } from "../target/ids.ts";
import { fieldLines } from "../printer.ts";
import type { Ending } from "../problem.ts";
import { shortId, table } from "../table.ts";
import { SECRET_VARIABLES, type SecretName } from "../../host/given-secrets.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

const KEPT_IS_REVOKED =
  "it is the key in credentials.json: for the commands here, set CHECKOUT_API_KEY to another one";
const NONE_LEFT = "the store has no other API key, so nobody can call v1; make one: checkout keys create";

type CreateOptions = CommonOptions & { readonly scopes?: readonly Scope[] };

/** `checkout keys create|list|revoke|generate`. */
export function registerKeys(parent: Command, registry: Registry): void {
  register<CreateOptions>(parent, registry, {
    name: "create",
    summary: "make another API key of the store, and print it this once",
    examples: ["checkout keys create", "checkout keys create --scopes orders:write,checkout_sessions:read"],
    options: [
      listOption(
        "--scopes <list>",
        `what it may do: ${SCOPES.join(", ")} (default: all)`,
        parseChoice(SCOPES),
      ),
    ],
    run: runCreate,
  });
  register<CommonOptions>(parent, registry, {
    name: "list",
    summary: "list the API keys of the store, revoked ones too, by their last four characters",
    examples: ["checkout keys list", "checkout keys list --json"],
    options: [],
    run: runList,
  });
  register<CommonOptions>(parent, registry, {
    name: "revoke <key_id>",
    summary: "revoke an API key: the service refuses it from now on",
    examples: ["checkout keys revoke 0199a3c4-5d00-7000-8000-000000000001"],
    options: [],
    run: runRevoke,
  });
  register<CommonOptions>(parent, registry, {
    name: "generate",
    ofStore: false,
    summary: "make secrets for a sandbox that is not there yet: an API key, a signing secret, both tokens",
    examples: ["checkout keys generate > sandbox.env", "checkout keys generate --json"],
    options: [],
    run: runGenerate,
  });
}

async function runCreate(context: Context, options: CreateOptions): Promise<Ending> {
  const { scopes } = options;
  const made = await callSandbox(context, {
    name: "createKey",
    body: scopes === undefined ? {} : { scopes: [...new Set(scopes)] },
  });
  if (!made.ok) return made;
  const { printer } = context;
  const { keyId, apiKey, scopes: granted } = made.value;
  return printer.result(encodeAnswer("createKey", made.value), () =>
    [
      `${printer.style.green("✓")} the store has another API key; nothing shows it again`,
      fieldLines([
        ["key_id", keyId],
        ["api_key", apiKey],
        ["scopes", granted.join(", ")],
      ]),
    ].join("\n"),
  );
}

async function runList(context: Context): Promise<Ending> {
  const listed = await callSandbox(context, { name: "listKeys", body: undefined });
  if (!listed.ok) return listed;
  const { storeId, keys } = listed.value;
  const keptEnd = endOfKeptKey(context, storeId);
  const kept = keys.find(({ lastFour }) => lastFour === keptEnd)?.keyId ?? null;
  return context.printer.result({ ...encodeAnswer("listKeys", listed.value), kept_key_id: kept }, () =>
    table(
      ["KEY", "ENDS WITH", "SCOPES", "CREATED", "REVOKED", "KEPT IN"],
      keys.map(({ keyId, lastFour, scopes, createdAt, revokedAt }) => [
        shortId(keyId),
        lastFour,
        scopes.join(", "),
        iso(createdAt),
        revokedAt === null ? null : iso(revokedAt),
        keyId === kept ? "credentials.json" : null,
      ]),
      { width: context.printer.width, drop: ["CREATED"] },
    ),
  );
}

/** Revokes a key, and says what cannot go on without it. */
async function runRevoke(context: Context, _options: CommonOptions, typed = ""): Promise<Ending> {
  const id = await findId(context, "key", typed);
  if (!id.ok) return id;
  const revoked = await callSandbox(context, {
    name: "revokeKey",
    id: id.value,
    body: {},
    nextAfter: { not_found: shownBy("key") },
  });
  if (!revoked.ok) return revoked;
  const { printer } = context;
  const { storeId, lastFour, revokedAt, keysLeft } = revoked.value;
  const kept = lastFour === endOfKeptKey(context, storeId);
  return printer.result({ ...encodeAnswer("revokeKey", revoked.value), kept }, () =>
    [
      `${printer.style.green("✓")} the API key …${lastFour} is revoked since ${iso(revokedAt)}`,
      ...(kept ? [`  ${KEPT_IS_REVOKED}`] : []),
      ...(keysLeft === 0 ? [`  ${NONE_LEFT}`] : []),
    ].join("\n"),
  );
}

/** The last four characters of the store's key in `credentials.json`; undefined where it has none that can be read. */
function endOfKeptKey({ around }: Context, storeId: string): string | undefined {
  const kept = around.credentials();
  return kept.ok ? kept.value.stores[storeId]?.api_key.slice(-4) : undefined;
}

/** Makes secrets that `sandbox start` takes from the environment. Nothing is kept, and no sandbox is needed. */
async function runGenerate({ world, printer }: Context): Promise<Ending> {
  const made: Readonly<Record<SecretName, string>> = {
    apiKey: newApiKey(world),
    signingSecret: newSigningSecret(world),
    controlToken: newToken(world, "control"),
    adminToken: newToken(world, "administrator"),
  };
  const json = {
    api_key: made.apiKey,
    signing_secret: made.signingSecret,
    control_token: made.controlToken,
    admin_token: made.adminToken,
  };
  return printer.result(json, () =>
    SECRET_VARIABLES.map(([name, variable]) => `${variable}=${made[name]}`).join("\n"),
  );
}
