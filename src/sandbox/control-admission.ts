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
  readonly tokens: {
    readonly identify: (kind: "token", token: string) => Caller | undefined;
  };
};

/**
 * Refuses requests of browsers and requests without a valid token. Control and admin token are compared in constant
 * time.
 */
export function admitToControl(
  { controlToken, adminToken, tokens }: ControlTokens,
  request: HttpRequest,
): Outcome<Caller> {
  const guard = refuseBrowsers(request);
  if (!guard.ok) return guard;
  const [line, ...otherLines] = headerLines(request, "authorization");
  if (line === undefined) return refuseFact("control_token_missing", {});
  const [, token = ""] = (otherLines.length === 0 && /^bearer +(\S+)$/i.exec(line)) || [];
  if (token !== "" && isSameSecret(token, controlToken)) return accept(OWNER);
  if (token !== "" && isSameSecret(token, adminToken)) return accept(ADMINISTRATOR);
  const limitedCaller = isStoreToken(token) ? tokens.identify("token", token) : undefined;
  return limitedCaller === undefined ? refuseFact("control_token_invalid", {}) : accept(limitedCaller);
}
