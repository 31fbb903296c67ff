// Tokens, links and sessions that are limited to one store. Their rows: store/tokens.ts; the commands: cli/store/tokens.ts.
import { API_KEY_RANDOM_BYTES, formatStoreToken, hashKey, storeTokenBits } from "../../core/credential.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { StoreRole, TokenEntry } from "../../core/store/shapes.ts";
import type { Store } from "../../store/store.ts";
import type { NewToken } from "../../store/tokens.ts";
import type { World } from "../../world.ts";
import { refuseUnknownStore } from "../at-store.ts";
import type { LimitedCaller } from "./caller.ts";

type TokenRights = { readonly storeId: string; readonly role: StoreRole };

type IssuedToken = { readonly tokenId: string; readonly secret: string; readonly expiresAt: number };

export type Tokens = {
  /** Issues a token for programs. Refuses an unknown store. */
  readonly issueToken: (rights: TokenRights, validMs: number) => Promise<Outcome<IssuedToken>>;
  /** Issues the code of a link, whose session lasts this long. Refuses an unknown store. */
  readonly issueLink: (rights: TokenRights, sessionMs: number) => Promise<Outcome<IssuedToken>>;
  /** Begins the session of a link, once. Undefined for a code that was used or revoked, has expired or is unknown. */
  readonly useLink: (code: string) => Promise<IssuedToken | undefined>;
  /** The caller of a valid token or session; undefined for every other secret. Notes the use. */
  readonly identify: (kind: "token" | "session", secret: string) => LimitedCaller | undefined;
  /** Whether a caller's token or session is still valid. */
  readonly isValid: (caller: LimitedCaller) => boolean;
  /** Revokes a token, link or session of a store; a revoked one stays unchanged. Refuses with `not_found`. */
  readonly revoke: (storeId: string, id: string) => Promise<Outcome<TokenEntry>>;
  /** Ends a session that its user leaves. */
  readonly leave: (caller: LimitedCaller) => Promise<void>;
};

/** How long a link can be used. */
const LINK_MS = 24 * 3_600_000;
/** Uses of a token within this time are noted once, so that reading requests seldom write. */
const USE_NOTED_MS = 60_000;

type TokensWorld = Pick<World, "now" | "uuid" | "freshId" | "randomBytes">;

/** `report` is called if a use cannot be noted; the request goes on. */
export function createTokens(
  world: TokensWorld,
  store: Pick<Store, "tokens" | "write" | "stores">,
  report: (error: unknown) => void,
): Tokens {
  const { tokens } = store;
  const beingNoted = new Set<string>();
  const noteUse = ({ tokenId, usedAt }: TokenEntry, at: number): void => {
    if (at - (usedAt ?? -Infinity) < USE_NOTED_MS || beingNoted.has(tokenId)) return;
    beingNoted.add(tokenId);
    const noted = store.write(() => tokens.use(tokenId, at)).catch(report);
    void noted.finally(() => beingNoted.delete(tokenId));
  };
  const insert = (token: Omit<NewToken, "hash" | "tokenId" | "createdAt">, secret: string): IssuedToken => {
    const tokenId = world.uuid(`${token.storeId} tokens`);
    tokens.insert({ ...token, tokenId, hash: hashKey(secret), createdAt: world.now() });
    return { tokenId, secret, expiresAt: token.expiresAt };
  };
  const atStore = <Value>(storeId: string, work: () => Outcome<Value>): Promise<Outcome<Value>> =>
    store.write(() => (store.stores.names(storeId) === undefined ? refuseUnknownStore(storeId) : work()));
  const issue = (
    given: TokenRights & Pick<NewToken, "kind" | "sessionMs">,
    validMs: number,
    secret: string,
  ): Promise<Outcome<IssuedToken>> =>
    atStore(given.storeId, () =>
      accept(insert({ ...given, linkId: null, expiresAt: world.now() + validMs }, secret)),
    );
  return {
    issueToken: (rights, validMs) =>
      issue({ ...rights, kind: "token", sessionMs: null }, validMs, newStoreToken(world)),
    issueLink: (rights, sessionMs) => issue({ ...rights, kind: "link", sessionMs }, LINK_MS, newCode(world)),
    useLink: (code) => {
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
    identify: (kind, secret) => {
      const [found, now] = [tokens.byHash(hashKey(secret)), world.now()];
      if (found?.kind !== kind || !isActive(found, now)) return undefined;
      const { tokenId, storeId, role, expiresAt } = found;
      noteUse(found, now);
      return { role, storeId, tokenId, expiresAt };
    },
    isValid: ({ tokenId }) => {
      const found = tokens.find(tokenId);
      return found !== undefined && isActive(found, world.now());
    },
    revoke: (storeId, id) =>
      atStore(storeId, () => {
        const found = tokens.find(id);
        if (found?.storeId !== storeId) return refuseFact("no_token", { id });
        if (found.revokedAt === null) tokens.revoke(id, world.now());
        return accept({ ...found, revokedAt: found.revokedAt ?? world.now() });
      }),
    leave: ({ tokenId }) => store.write(() => tokens.revoke(tokenId, world.now())),
  };
}

function isActive({ expiresAt, revokedAt }: TokenEntry, now: number): boolean {
  return revokedAt === null && now < expiresAt;
}

/** In a hosted service the random bytes of API keys name the store's object, and so do those of tokens. */
function newStoreToken({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatStoreToken(randomBytes(API_KEY_RANDOM_BYTES, "api key"));
}

/** The bytes of a UUID in 22 characters, so that a link fits into a line of 80. */
export function newCode({ freshId }: Pick<World, "freshId">): string {
  return Buffer.from(freshId().replaceAll("-", ""), "hex").toString("base64url");
}

export function isStoreToken(text: string): boolean {
  return storeTokenBits(text) !== undefined;
}
