// Tokens, links and sessions that are limited to one store. Their rows: store/tokens.ts; the commands: cli/store/tokens.ts.
import { API_KEY_RANDOM_BYTES, formatStoreToken, hashKey } from "../../core/credential.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { StoreRole, TokenEntry } from "../../core/store/shapes.ts";
import type { Store } from "../../store/store.ts";
import type { NewToken } from "../../store/tokens.ts";
import type { World } from "../../world.ts";
import { atStore } from "../at-store.ts";
import type { LimitedCaller } from "./caller.ts";

type TokenRights = { readonly storeId: string; readonly role: StoreRole };

type IssuedToken = { readonly tokenId: string; readonly secret: string; readonly expiresAt: number };

export type Tokens = Readonly<ReturnType<typeof createTokens>>;

/** How long a link can be used. */
const LINK_MS = 24 * 3_600_000;
/** Uses of a token within this time are noted once, so that reading requests seldom write. */
const USE_NOTED_MS = 60_000;

type TokensWorld = Pick<World, "now" | "uuid" | "freshId" | "randomBytes">;

/** `report` is called if a use cannot be noted; the request goes on. */
export function createTokens(world: TokensWorld, store: Store, report: (error: unknown) => void) {
  const { tokens } = store;
  const noteUse = createUseNotes(store, report);
  const insert = (token: Omit<NewToken, "hash" | "tokenId" | "createdAt">, secret: string): IssuedToken => {
    const tokenId = world.uuid(`${token.storeId} tokens`);
    tokens.insert({ ...token, tokenId, hash: hashKey(secret), createdAt: world.now() });
    return { tokenId, secret, expiresAt: token.expiresAt };
  };
  const issue = (
    given: TokenRights & Pick<NewToken, "kind" | "sessionMs">,
    validMs: number,
    secret: string,
  ): Promise<Outcome<IssuedToken>> =>
    atStore({ store, world }, given.storeId, () =>
      accept(insert({ ...given, linkId: null, expiresAt: world.now() + validMs }, secret)),
    );
  return {
    /** Issues a token for programs. Refuses an unknown store. */
    issueToken: (rights: TokenRights, validMs: number) =>
      issue({ ...rights, kind: "token", sessionMs: null }, validMs, newStoreToken(world)),
    /** Issues the code of a link, whose session lasts this long. Refuses an unknown store. */
    issueLink: (rights: TokenRights, sessionMs: number) =>
      issue({ ...rights, kind: "link", sessionMs }, LINK_MS, newCode(world)),
    /** Begins the session of a link, once. Undefined for a code that was used or revoked, has expired or is unknown. */
    useLink: (code: string): Promise<IssuedToken | undefined> => {
      const secret = world.freshId();
      return store.write(() => {
        const now = world.now();
        const link = tokens.byHash(hashKey(code));
        if (link?.kind !== "link" || link.usedAt !== null || !isActive(link, now)) return undefined;
        tokens.use(link.tokenId, now);
        const { tokenId: linkId, storeId, role, sessionMs } = link;
        const given = { storeId, role, kind: "session", sessionMs: null, linkId } as const;
        return insert({ ...given, expiresAt: now + (sessionMs ?? 0) }, secret);
      });
    },
    /** The caller of a valid token or session; undefined for every other secret. Notes the use. */
    identify: (kind: "token" | "session", secret: string): LimitedCaller | undefined => {
      const [found, now] = [tokens.byHash(hashKey(secret)), world.now()];
      if (found?.kind !== kind || !isActive(found, now)) return undefined;
      const { tokenId, storeId, role, expiresAt } = found;
      noteUse(found, now);
      return { role, storeId, tokenId, expiresAt };
    },
    /** Whether a caller's token or session is still valid. */
    isValid: ({ tokenId }: LimitedCaller): boolean => {
      const found = tokens.find(tokenId);
      return found !== undefined && isActive(found, world.now());
    },
    /** Revokes a token, link or session of a store; a revoked one stays unchanged. Refuses with `not_found`. */
    revoke: (storeId: string, id: string): Promise<Outcome<TokenEntry>> =>
      atStore({ store, world }, storeId, () => {
        const found = tokens.find(id);
        if (found?.storeId !== storeId) return refuseFact("no_token", { id });
        if (found.revokedAt === null) tokens.revoke(id, world.now());
        return accept({ ...found, revokedAt: found.revokedAt ?? world.now() });
      }),
    /** Ends a session that its user leaves. */
    leave: ({ tokenId }: LimitedCaller): Promise<void> =>
      store.write(() => tokens.revoke(tokenId, world.now())),
  };
}

/** Notes a use at most once a minute. */
function createUseNotes({ tokens, write }: Store, report: (error: unknown) => void) {
  const beingNoted = new Set<string>();
  return ({ tokenId, usedAt }: TokenEntry, at: number): void => {
    if (at - (usedAt ?? -Infinity) < USE_NOTED_MS || beingNoted.has(tokenId)) return;
    beingNoted.add(tokenId);
    const noted = write(() => tokens.use(tokenId, at)).catch(report);
    void noted.finally(() => beingNoted.delete(tokenId));
  };
}

function isActive({ expiresAt, revokedAt }: TokenEntry, now: number): boolean {
  return revokedAt === null && now < expiresAt;
}

/** In a hosted service the random bytes of API keys and of tokens name the store's object. */
function newStoreToken({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatStoreToken(randomBytes(API_KEY_RANDOM_BYTES, "api key"));
}

/** The bytes of a UUID in 22 characters, so that a link fits into a line of 80. */
export function newCode({ freshId }: Pick<World, "freshId">): string {
  return Buffer.from(freshId().replaceAll("-", ""), "hex").toString("base64url");
}
