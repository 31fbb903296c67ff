import { isSameSecret } from "../../core/credential.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { World } from "../../world.ts";
import type { LimitedCaller } from "../access/caller.ts";
import { newSignInCode, type Tokens } from "../access/tokens.ts";

export type PortalRole = "merchant" | "administrator";

type PortalPreferences = {
  readonly language: "en" | "zh" | undefined;
  readonly hasShortcuts: boolean;
};

export type PortalSession = PortalPreferences & {
  readonly id: string;
  readonly role: PortalRole;
  readonly limit?: LimitedCaller;
  readonly formToken: string;
};

type PortalAddress = {
  /** Null if the portal is off, because the portal would have the same origin as the payment pages. */
  readonly url: string | null;
  /** Part of the cookies' names, because browsers send a cookie to all ports of a host. */
  readonly port: number;
};

export type PortalAccess = Readonly<ReturnType<typeof createPortalAccess>>;

/** The code is in the fragment (#), so that no request, log or Referer contains it. */
export function signInLink(
  { origin, path }: Pick<PortalAccess, "origin" | "path">,
  code: string,
  nextAddress?: string,
): string {
  return `${origin}${path}/sign-in${nextAddress === undefined ? "" : `?to=${encodeURIComponent(nextAddress)}`}#t=${code}`;
}

const CODE_LIFETIME_MS = 10 * 60_000;
const MAX_CODES = 100;
const MAX_SESSIONS = 100;
const MAX_KEPT_TEXTS = 100;
const MAX_ACTIONS = 100;
const MAX_GUESSES = 10;
const GUESS_WINDOW_MS = 60_000;

/** Sessions of owner and administrator are in memory (decision 99): a stop of the sandbox signs both out. */
export function createPortalAccess(
  world: Pick<World, "now" | "freshId">,
  { url, port }: PortalAddress,
  { adminToken, tokens: storeTokens }: { readonly adminToken: string; readonly tokens: Tokens },
) {
  const { origin, pathname: path } = url === null ? { origin: "", pathname: "" } : new URL(url);
  const codes = createCodes(world);
  const sessions = createSessions(world, storeTokens);
  const checkToken = createTokenChecker(world, adminToken);
  return {
    ...sessions,
    ...createActions(),
    origin,
    path,
    port,
    isOff: url === null,
    issueCode: codes.issue,
    /**
     * A code or link works once. A code keeps the session of a browser that is signed in as the owner; a store's link
     * begins a new session.
     */
    signInByCode: async (
      code: string,
      currentSession: PortalSession | undefined,
    ): Promise<Outcome<PortalSession>> => {
      const owner = currentSession?.limit === undefined ? currentSession : undefined;
      if (codes.use(code)) return accept(owner ?? sessions.begin("merchant"));
      const login = await storeTokens.useLink(code);
      const session = login && sessions.find("merchant", login.token);
      return session === undefined ? refuseFact("sign_in_code", {}) : accept(session);
    },
    signInByToken: (token: string, currentSession: PortalSession | undefined): Outcome<PortalSession> =>
      mapValue(checkToken(token), () => currentSession ?? sessions.begin("administrator")),
    signOut: async (session: PortalSession): Promise<void> => {
      sessions.end(session);
      if (session.limit !== undefined) await storeTokens.revoke(session.limit.storeId, session.limit.tokenId);
    },
    endAll: (): number => {
      codes.forget();
      return sessions.endAll();
    },
  };
}

/** Codes come from `freshId` and not from the seed: whoever knows the seed could otherwise sign in. */
function createCodes({ now, freshId }: Pick<World, "now" | "freshId">) {
  let codes: readonly { readonly code: string; readonly expiresAt: number }[] = [];
  return {
    /** `expiresAt`: milliseconds by the real clock. */
    issue: () => {
      const issuedCode = { code: newSignInCode({ freshId }), expiresAt: now() + CODE_LIFETIME_MS };
      codes = [...codes, issuedCode].slice(-MAX_CODES);
      return issuedCode;
    },
    use: (presentedCode: string): boolean => {
      const usedCode = codes.find(({ code }) => isSameSecret(presentedCode, code));
      codes = codes.filter((code) => code !== usedCode);
      return usedCode !== undefined && now() < usedCode.expiresAt;
    },
    forget: (): void => {
      codes = [];
    },
  };
}

/** After `MAX_GUESSES` in `GUESS_WINDOW_MS`, no token is compared, so that even a correct guess is not revealed. */
function createTokenChecker({ now }: Pick<World, "now">, adminToken: string) {
  let wrongGuesses: readonly number[] = [];
  return (token: string): Outcome<void> => {
    wrongGuesses = wrongGuesses.filter((at) => at > now() - GUESS_WINDOW_MS);
    const [oldestGuess] = wrongGuesses;
    if (oldestGuess !== undefined && wrongGuesses.length >= MAX_GUESSES) {
      const retryAfterSeconds = Math.max(1, Math.ceil((oldestGuess + GUESS_WINDOW_MS - now()) / 1000));
      return refuseFact("wrong_tokens", { seconds: retryAfterSeconds }, { retryAfterSeconds });
    }
    if (isSameSecret(token, adminToken)) return accept(undefined);
    wrongGuesses = [...wrongGuesses, now()];
    return refuseFact("not_admin_token", {});
  };
}

function createSessions({ freshId }: Pick<World, "freshId">, tokens: Tokens) {
  const sessions = new Map<string, PortalSession>();
  const keptTexts = new Map<string, { readonly owner: string; readonly text: string }>();
  const end = ({ id }: Pick<PortalSession, "id">): void => {
    sessions.delete(id);
    for (const [ticket, { owner }] of keptTexts) if (owner === id) keptTexts.delete(ticket);
  };
  const add = (session: Pick<PortalSession, "id" | "role" | "limit">): PortalSession => {
    const newSession = { ...session, formToken: freshId(), language: undefined, hasShortcuts: true };
    sessions.set(session.id, newSession);
    const [firstSession] = sessions.values();
    const oldestSession = [...sessions.values()].find(({ limit }) => limit !== undefined) ?? firstSession;
    if (sessions.size > MAX_SESSIONS && oldestSession !== undefined) end(oldestSession);
    return newSession;
  };
  return {
    begin: (role: PortalRole): PortalSession => add({ id: freshId(), role }),
    find: (role: PortalRole, id: string): PortalSession | undefined => {
      const session = sessions.get(id);
      if (role === "administrator" || (session !== undefined && session.limit === undefined))
        return session?.role === role ? session : undefined;
      const limit = tokens.identify("session", id);
      if (limit !== undefined) return session ?? add({ id, role, limit });
      end({ id });
      return undefined;
    },
    setPreferences: ({ id }: PortalSession, preferences: Partial<PortalPreferences>): void => {
      const session = sessions.get(id);
      if (session !== undefined) sessions.set(id, { ...session, ...preferences });
    },
    keepOnce: ({ id: owner }: PortalSession, text: string): string => {
      const ticket = freshId();
      keptTexts.set(ticket, { owner, text });
      const [oldestTicket] = keptTexts.keys();
      if (keptTexts.size > MAX_KEPT_TEXTS && oldestTicket !== undefined) keptTexts.delete(oldestTicket);
      return ticket;
    },
    takeOnce: ({ id }: PortalSession, ticket: string): string | undefined => {
      const entry = keptTexts.get(ticket);
      if (entry?.owner !== id) return undefined;
      keptTexts.delete(ticket);
      return entry.text;
    },
    end,
    endAll: (): number => {
      const ownSessions = [...sessions.values()].filter(({ limit }) => limit === undefined);
      ownSessions.forEach(end);
      return ownSessions.length;
    },
  };
}

function createActions() {
  const outcomes = new Map<string, Promise<Outcome<string>>>();
  let pageCount = 0;
  return {
    numberPage: (): string => String((pageCount += 1)),
    /** A repeated submission counts as a double click and gets the outcome of the first, unless the first failed. */
    actOnce: async (
      { id }: PortalSession,
      formKey: string,
      run: () => Promise<Outcome<string>>,
    ): Promise<Outcome<string>> => {
      const actionKey = `${id} ${formKey}`;
      const earlierOutcome = outcomes.get(actionKey);
      if (earlierOutcome !== undefined) return earlierOutcome;
      const outcome = run();
      outcomes.set(actionKey, outcome);
      const [oldestKey] = outcomes.keys();
      if (outcomes.size > MAX_ACTIONS && oldestKey !== undefined) outcomes.delete(oldestKey);
      const isDone = await outcome.then(
        ({ ok }) => ok,
        () => false,
      );
      if (!isDone && outcomes.get(actionKey) === outcome) outcomes.delete(actionKey);
      return outcome;
    },
  };
}
