import type { ControlRole } from "../core/control/protocol.ts";
import { isSameSecret } from "../core/credential.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { refuseBrowsers } from "../web/guard.ts";
import { headerLines } from "../web/http.ts";
import type { HttpRequest } from "../world.ts";

type ControlTokens = { readonly controlToken: string; readonly adminToken: string };

/** The first checks of the control API, which need no state: no browser, and a token. Returns the caller's role. */
export function admitToControl(tokens: ControlTokens, request: HttpRequest): Outcome<ControlRole> {
  const allowed = refuseBrowsers(request);
  return allowed.ok ? identify(tokens, request) : allowed;
}

/** The role of the request's token. Each comparison takes constant time; a token is valid only for its own role. */
function identify({ controlToken, adminToken }: ControlTokens, request: HttpRequest): Outcome<ControlRole> {
  const lines = headerLines(request, "authorization");
  const [, token = ""] = /^bearer +(\S+)$/i.exec(lines[0] ?? "") ?? [];
  if (lines.length === 1 && isSameSecret(token, controlToken)) return accept("control");
  if (lines.length === 1 && isSameSecret(token, adminToken)) return accept("administrator");
  const code = lines.length === 0 ? "credential_missing" : "credential_invalid";
  return refuse(
    code,
    "the control API requires Authorization: Bearer <token>, with the control token in .checkout/run.json, or for actions of the administrator the admin token in .checkout/admin.json",
  );
}
