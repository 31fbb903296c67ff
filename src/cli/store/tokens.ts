import { toIso, toIsoOrNull } from "../../core/clock.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { TOKEN_VALIDITY_MS } from "../../core/control/rights.ts";
import { STORE_ROLES, type StoreRole } from "../../core/store/shapes.ts";
import { displayStoreName } from "../../core/config/store-name.ts";
import { shortId } from "../../core/text.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Context, type Group } from "../command.ts";
import { choiceParser, durationParser } from "../parsers.ts";
import { fieldLines } from "../printer.ts";
import { table } from "../table.ts";
import { callAt } from "../target/call.ts";
import { requireControlTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

export type RightsOptions = CommonOptions & { readonly role?: StoreRole; readonly valid?: number };

export function rightsOptions(validText: string) {
  return [
    valueOption(
      "--role <role>",
      {
        text: "store: full access to the store, except tokens and administrator actions; viewer: read access, without secrets",
        default: "store",
      },
      choiceParser(STORE_ROLES),
    ),
    valueOption(
      "--valid <duration>",
      { text: `${validText}, such as 12h or 30d`, default: "7d" },
      durationParser(TOKEN_VALIDITY_MS.least, TOKEN_VALIDITY_MS.most),
    ),
  ];
}

export function registerTokens(group: Group): void {
  register<RightsOptions>(group, {
    name: "create",
    summary:
      "create a token with which a colleague or a program can act on one store; the token is shown only once",
    examples: [
      "checkout tokens create --store Alice",
      "checkout tokens create --store Alice --role viewer --valid 30d --json",
    ],
    options: rightsOptions("how long the token is valid"),
    run: runnerFor("createToken", {
      body: ({ role, valid: validMs }) => ({ role, validMs }),
      text: ({ tokenId, token, role, storeId, expiresAt }, { style }) =>
        [
          `${style.green("✓")} token created; it is not shown again`,
          fieldLines([
            ["token_id", tokenId],
            ["token", token],
            ["role", role],
            ["store_id", storeId],
            ["expires_at", toIso(expiresAt)],
          ]),
          style.dim(
            "  to use it: set CHECKOUT_CONTROL_TOKEN, and CHECKOUT_BASE_URL to the sandbox's address",
          ),
        ].join("\n"),
    }),
  });
  register(group, {
    name: "list",
    summary: "list the tokens, sign-in links and portal sessions of the stores, including revoked ones",
    examples: ["checkout tokens list", "checkout tokens list --store Alice --json"],
    run: runList,
  });
  register(group, {
    name: "revoke <token_id>",
    summary:
      "revoke a token, or a sign-in link with its session; requests and pages that use it end within 2 s",
    examples: ["checkout tokens revoke 0199a3c4-5d00-7000-8000-000000000001"],
    run: runnerFor("revokeToken", {
      target: (context, _options, text = "") => targetOfToken(context, text.toLowerCase()),
      idKind: "token",
      body: () => ({}),
      text: ({ kind, role, tokenId }, { style }) =>
        `${style.green("✓")} the ${kind} ${shortId(tokenId)} (${role}) is revoked`,
    }),
  });
}

async function listTokensByStore(context: Context) {
  const sandbox = await requireControlTarget(context);
  const { stores } = await callAt(context, sandbox, { name: "listStores", body: undefined });
  const storeTokens = [];
  for (const { storeId, name } of stores) {
    if (context.around.storeFlag !== undefined && storeId !== sandbox.storeId) continue;
    const target = { ...sandbox, storeId };
    const tokenList = await callAt(context, target, { name: "listTokens", body: undefined });
    storeTokens.push({ name, target, tokenList });
  }
  return storeTokens;
}

async function runList(context: Context): Promise<number> {
  const { printer } = context;
  const stores = await listTokensByStore(context);
  const wireTokens = stores.flatMap(({ tokenList }) => encodeAnswer("listTokens", tokenList)["tokens"]);
  return printer.result(output("tokens", { tokens: wireTokens }), () =>
    table(
      ["TOKEN", "STORE", "KIND", "ROLE", "EXPIRES", "LAST USED", "REVOKED", "CREATED"],
      stores.flatMap(({ name, tokenList }) =>
        tokenList.tokens.map(({ tokenId, kind, role, ...times }) => [
          shortId(tokenId),
          displayStoreName(name),
          kind,
          role,
          toIso(times.expiresAt),
          toIsoOrNull(times.usedAt),
          toIsoOrNull(times.revokedAt),
          toIso(times.createdAt),
        ]),
      ),
      { width: printer.width, drop: ["CREATED", "LAST USED"] },
    ),
  );
}

async function targetOfToken(context: Context, id: string): Promise<ControlTarget> {
  const stores = await listTokensByStore(context);
  const entry = stores.find(({ tokenList }) => tokenList.tokens.some(({ tokenId }) => tokenId.endsWith(id)));
  return entry?.target ?? requireControlTarget(context);
}
