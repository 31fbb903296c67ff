import { API_KEY_RANDOM_BYTES, formatStoreToken, hashKey } from "../../core/credential.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { TOKEN_VALIDITY_MS } from "../../core/control/rights.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { TokenEntry } from "../../core/store/shapes.ts";
import type { Store } from "../../store/store.ts";
import type { NewToken } from "../../store/tokens.ts";
import type { World } from "../../world.ts";
import { withStore } from "../with-store.ts";
import type { Caller, LimitedCaller } from "./caller.ts";

type Grant = RequestOf<"createToken"> & { readonly storeId: string };

export type Tokens = Readonly<ReturnType<typeof createTokens>>;

const LINK_TTL_MS = 24 * 3_600_000;
const USE_INTERVAL_MS = 60_000;

type TokensWorld = Pick<World, "now" | "uuid" | "freshId" | "randomBytes">;

export function createTokens(world: TokensWorld, store: Store, report: (error: unknown) => void) {
  const { tokens } = store;
  const noteUse = createUseRecorder(store, report);
  const insert = (row: Omit<NewToken, "hash" | "tokenId" | "createdAt">, token: string) => {
    const { storeId, role, expiresAt } = row;
    const tokenId = world.uuid(`${storeId} tokens`);
    tokens.insert({ ...row, tokenId, hash: hashKey(token), createdAt: world.now() });
    return { tokenId, token, role, storeId, expiresAt };
  };
  return {
    issue: (
      kind: "token" | "link",
      { storeId, role = "store", validMs = TOKEN_VALIDITY_MS.default }: Grant,
    ) => {
      const isLink = kind === "link";
      // In a hosted service, the random bytes of API keys and tokens contain a mark by which requests are routed to the
      // store's object.
      const token = isLink
        ? newSignInCode(world)
        : formatStoreToken(world.randomBytes(API_KEY_RANDOM_BYTES, "api key"));
      const tokenFields = { storeId, role, kind, sessionMs: isLink ? validMs : null, linkId: null };
      return withStore({ store, world }, storeId, () =>
        accept(insert({ ...tokenFields, expiresAt: world.now() + (isLink ? LINK_TTL_MS : validMs) }, token)),
      );
    },
    useLink: (code: string) => {
      const secret = world.freshId();
      return store.write(() => {
        const now = world.now();
        const link = tokens.byHash(hashKey(code));
        if (link?.kind !== "link" || link.usedAt !== null || !isActive(link, now)) return undefined;
        tokens.recordUse(link.tokenId, now);
        const { tokenId: linkId, storeId, role, sessionMs } = link;
        const tokenFields = { storeId, role, kind: "session", sessionMs: null, linkId } as const;
        return insert({ ...tokenFields, expiresAt: now + (sessionMs ?? 0) }, secret);
      });
    },
    /** Undefined if the token or session is invalid, revoked or expired. Records its use at most once a minute. */
    identify: (kind: "token" | "session", secret: string): LimitedCaller | undefined => {
      const [entry, now] = [tokens.byHash(hashKey(secret)), world.now()];
      if (entry?.kind !== kind || !isActive(entry, now)) return undefined;
      const { tokenId, storeId, role, expiresAt } = entry;
      void noteUse(entry, now);
      return { role, storeId, tokenId, expiresAt };
    },
    isValid: ({ tokenId }: Pick<Caller, "tokenId">): boolean =>
      tokenId === null || isActive(tokens.find(tokenId), world.now()),
    revoke: (storeId: string, id: string): Promise<Outcome<TokenEntry>> =>
      withStore({ store, world }, storeId, () => {
        const entry = tokens.find(id);
        if (entry?.storeId !== storeId) return refuseFact("no_token", { id });
        if (entry.revokedAt === null) tokens.revoke(id, world.now());
        return accept({ ...entry, revokedAt: entry.revokedAt ?? world.now() });
      }),
  };
}

function createUseRecorder({ tokens, write }: Store, report: (error: unknown) => void) {
  const pendingTokenIds = new Set<string>();
  return async ({ tokenId, usedAt }: TokenEntry, at: number): Promise<void> => {
    if (at - (usedAt ?? -Infinity) < USE_INTERVAL_MS || pendingTokenIds.has(tokenId)) return;
    pendingTokenIds.add(tokenId);
    await write(() => tokens.recordUse(tokenId, at)).catch(report);
    pendingTokenIds.delete(tokenId);
  };
}

function isActive(entry: TokenEntry | undefined, now: number): boolean {
  return entry?.revokedAt === null && now < entry.expiresAt;
}

/** A UUID in base64url (22 characters), so that a link fits into 80 columns. */
export function newSignInCode({ freshId }: Pick<World, "freshId">): string {
  return Buffer.from(freshId().replaceAll("-", ""), "hex").toString("base64url");
}
