import { toIso, toIsoOrNull } from "../../core/clock.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { SCOPES, type Scope } from "../../core/credential.ts";
import { newApiKey } from "../../sandbox/runtime/keys.ts";
import { newSigningSecret } from "../../sandbox/runtime/seed.ts";
import { shortId } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { listOption, register, type Context, type Group } from "../command.ts";
import { newToken } from "../../host/folder/state-folder.ts";
import { choiceParser } from "../parsers.ts";
import { fieldLines } from "../printer.ts";
import { table } from "../table.ts";
import { SECRET_VARIABLES, type SecretName } from "../../host/given-secrets.ts";
import { catchRefusal } from "../problem.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

const REVOKED_KEY_TEXT =
  "credentials.json has this key: to run commands in this folder, set CHECKOUT_API_KEY to another key";
const NO_KEY_LEFT_TEXT =
  "the store has no other API key, so v1 refuses every request; create a key: checkout keys create";

type CreateOptions = CommonOptions & { readonly scopes?: readonly Scope[] };

export function registerKeys(group: Group): void {
  register<CreateOptions>(group, {
    name: "create",
    summary: "create an API key for the store; it is shown only once",
    examples: ["checkout keys create", "checkout keys create --scopes orders:write,checkout_sessions:read"],
    options: [
      listOption(
        "--scopes <list>",
        { text: `scopes of the key, separated by commas: ${SCOPES.join(", ")}`, default: "all" },
        choiceParser(SCOPES),
      ),
    ],
    run: runnerFor("createKey", {
      body: ({ scopes }) => ({ scopes: scopes && [...new Set(scopes)] }),
      text: ({ keyId, apiKey, scopes }, { style }) =>
        [
          `${style.green("✓")} API key created; it is not shown again`,
          fieldLines([
            ["key_id", keyId],
            ["api_key", apiKey],
            ["scopes", scopes.join(", ")],
          ]),
        ].join("\n"),
    }),
  });
  register(group, {
    name: "list",
    summary: "list the API keys of the store, including revoked keys, by their last four characters",
    examples: ["checkout keys list", "checkout keys list --json"],
    run: runnerFor("listKeys", {
      json: (wireList, keyList, { context }) =>
        output("keys", { ...wireList, kept_key_id: findKeptKey(context, keyList) }),
      text: (keyList, { width }, { context }) =>
        keyLines(keyList, { width, keptKeyId: findKeptKey(context, keyList) }),
    }),
  });
  register(group, {
    name: "revoke <key_id>",
    summary: "revoke an API key; the service refuses it from now on",
    examples: ["checkout keys revoke 0199a3c4-5d00-7000-8000-000000000001"],
    run: runnerFor("revokeKey", {
      idKind: "key",
      body: () => ({}),
      json: (wireKey, revokedKey, { context }) =>
        output("revoked_key", { ...wireKey, kept: isKeptKey(context, revokedKey) }),
      text: (revokedKey, { style }, { context }) =>
        [
          `${style.green("✓")} the API key …${revokedKey.lastFour} was revoked at ${toIso(revokedKey.revokedAt)}`,
          ...(isKeptKey(context, revokedKey) ? [`  ${REVOKED_KEY_TEXT}`] : []),
          ...(revokedKey.keysLeft === 0 ? [`  ${NO_KEY_LEFT_TEXT}`] : []),
        ].join("\n"),
    }),
  });
  register(group, {
    name: "generate",
    usesStore: false,
    summary:
      "generate secrets for a new sandbox: an API key, a signing secret, a control token and an admin token",
    examples: ["checkout keys generate > sandbox.env", "checkout keys generate --json"],
    run: runGenerate,
  });
}

function keyLines(
  { keys }: AnswerOf<"listKeys">,
  { width, keptKeyId }: { readonly width: number; readonly keptKeyId: string | null },
): Promise<string> {
  return table(
    ["KEY", "ENDS WITH", "SCOPES", "CREATED", "REVOKED", "KEPT IN"],
    keys.map(({ keyId, lastFour, scopes, createdAt, revokedAt }) => [
      shortId(keyId),
      lastFour,
      scopes.join(", "),
      toIso(createdAt),
      toIsoOrNull(revokedAt),
      keyId === keptKeyId ? "credentials.json" : null,
    ]),
    { width, drop: ["CREATED"] },
  );
}

function findKeptKey(context: Context, { storeId, keys }: AnswerOf<"listKeys">): string | null {
  const keyLastFour = keptLastFour(context, storeId);
  return keys.find(({ lastFour }) => lastFour === keyLastFour)?.keyId ?? null;
}

function isKeptKey(context: Context, { storeId, lastFour }: AnswerOf<"revokeKey">): boolean {
  return lastFour === keptLastFour(context, storeId);
}

function keptLastFour({ around }: Context, storeId: string): string | undefined {
  return catchRefusal(around.credentials).value?.stores[storeId]?.api_key.slice(-4);
}

/** Prints new secrets, which `sandbox start` can read from the environment, without storing them. */
async function runGenerate({ world, printer }: Context): Promise<number> {
  const newSecrets: Readonly<Record<SecretName, string>> = {
    apiKey: newApiKey(world),
    signingSecret: newSigningSecret(world),
    controlToken: newToken(world, "control"),
    adminToken: newToken(world, "administrator"),
  };
  const json = output("new_secrets", {
    api_key: newSecrets.apiKey,
    signing_secret: newSecrets.signingSecret,
    control_token: newSecrets.controlToken,
    admin_token: newSecrets.adminToken,
  });
  return printer.result(json, () =>
    SECRET_VARIABLES.map(([name, variable]) => `${variable}=${newSecrets[name]}`).join("\n"),
  );
}
