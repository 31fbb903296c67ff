import { isSameSecret, isStoreToken } from "../core/credential.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { refuseBrowsers } from "../web/guard.ts";
import { headerLines } from "../web/http.ts";
import type { HttpRequest } from "../world.ts";
import { ADMINISTRATOR, OWNER, type Caller } from "./access/caller.ts";

type ControlTokens = {
  readonly controlToken: string;
  readonly adminToken: string;
  /** The caller of a store's token; undefined if the token is not valid. */
  readonly callerOf: (token: string) => Caller | undefined;
};

/** The first checks of the control API: no browser, and a token. Returns the caller. */
export function admitToControl(tokens: ControlTokens, request: HttpRequest): Outcome<Caller> {
  const allowed = refuseBrowsers(request);
  return allowed.ok ? identify(tokens, request) : allowed;
}

/** The caller by the request's token. Each comparison takes constant time; a token is valid only for its own role. */
function identify(
  { controlToken, adminToken, callerOf }: ControlTokens,
  request: HttpRequest,
): Outcome<Caller> {
  const lines = headerLines(request, "authorization");
  const [, token = ""] = /^bearer +(\S+)$/i.exec(lines[0] ?? "") ?? [];
  if (lines.length === 1 && isSameSecret(token, controlToken)) return accept(OWNER);
  if (lines.length === 1 && isSameSecret(token, adminToken)) return accept(ADMINISTRATOR);
  const limited = lines.length === 1 && isStoreToken(token) ? callerOf(token) : undefined;
  if (limited !== undefined) return accept(limited);
  return refuseFact(lines.length === 0 ? "control_token_missing" : "control_token_invalid", {});
}
