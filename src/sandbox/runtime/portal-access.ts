import { isSameSecret } from "../../core/constant-time.ts";
import type { World } from "../../world.ts";

/** Who is signed in: whoever runs the sandbox, or its administrator. */
export type PortalRole = "merchant" | "administrator";

/** A browser that is signed in. */
export type PortalSession = {
  readonly id: string;
  readonly role: PortalRole;
  /** The token in every form of its pages. */
  readonly formToken: string;
};

/** Who may use the portal (decision 99). Kept in memory: a stop of the sandbox signs everybody out. */
export type PortalAccess = {
  /** Scheme, host and port of the portal. */
  readonly origin: string;
  /** A code that signs one browser in, once, and when it expires, in milliseconds by the real clock. */
  readonly issueCode: () => { readonly code: string; readonly expiresAt: number };
  /** Whether a code is one that was issued, and not used or expired; it is used by this. */
  readonly useCode: (code: string) => boolean;
  readonly signIn: (role: PortalRole) => PortalSession;
  readonly find: (role: PortalRole, id: string) => PortalSession | undefined;
  /** Keeps a text for one look of this session. Returns the ticket that the look presents. */
  readonly keepOnce: (session: PortalSession, text: string) => string;
  readonly takeOnce: (session: PortalSession, ticket: string) => string | undefined;
  readonly signOut: (id: string) => void;
  /** Signs everybody out, and takes back the codes. Returns how many were signed in. */
  readonly endAll: () => number;
};

const CODE_LIFETIME_MS = 10 * 60_000;
const MAX_CODES = 100;
const MAX_SESSIONS = 100;
const MAX_KEPT = 100;

/** Makes the access to a portal that nobody is signed in to. */
export function createPortalAccess(
  { now, randomBytes }: Pick<World, "now" | "randomBytes">,
  origin: string,
): PortalAccess {
  const codes: { readonly code: string; readonly expiresAt: number }[] = [];
  const sessions = new Map<string, PortalSession>();
  const kept = new Map<string, string>();
  const secret = (): string => Buffer.from(randomBytes(24)).toString("base64url");
  return {
    origin,
    issueCode: () => {
      const issued = { code: secret(), expiresAt: now() + CODE_LIFETIME_MS };
      codes.push(issued);
      if (codes.length > MAX_CODES) codes.shift();
      return issued;
    },
    useCode: (presented) => {
      const at = codes.findIndex(({ code }) => isSameSecret(presented, code));
      const [used] = at === -1 ? [] : codes.splice(at, 1);
      return used !== undefined && now() < used.expiresAt;
    },
    signIn: (role) => {
      const session = { id: secret(), role, formToken: secret() };
      sessions.set(session.id, session);
      const [oldest] = sessions.keys();
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      return session;
    },
    find: (role, id) => {
      const session = sessions.get(id);
      return session?.role === role ? session : undefined;
    },
    keepOnce: ({ id }, text) => {
      const ticket = secret();
      kept.set(`${id} ${ticket}`, text);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      return ticket;
    },
    takeOnce: ({ id }, ticket) => {
      const name = `${id} ${ticket}`;
      const text = kept.get(name);
      kept.delete(name);
      return text;
    },
    signOut: (id) => void sessions.delete(id),
    endAll: () => {
      const ended = sessions.size;
      sessions.clear();
      kept.clear();
      codes.length = 0;
      return ended;
    },
  };
}
