import { headerLines } from "../../../../web/http.ts";
import type { HttpRequest } from "../../../../world.ts";
import type { PortalAccess, PortalRole, PortalSession } from "../../../runtime/portal-access.ts";

/** Administrators sign in separately, with a cookie that merchants' pages do not receive. */
const ADMIN_HOME = "/portal/admin";

export function roleOfPath(path: string): PortalRole {
  return path === ADMIN_HOME || path.startsWith(`${ADMIN_HOME}/`) ? "administrator" : "merchant";
}

export function homePathOf(role: PortalRole): "/portal" | "/portal/admin" {
  return role === "administrator" ? ADMIN_HOME : "/portal";
}

export function sessionOf(
  portal: PortalAccess,
  request: HttpRequest,
  role: PortalRole,
): PortalSession | undefined {
  const name = cookieName(portal, role);
  const pairs = headerLines(request, "cookie").flatMap((line) => line.split(";"));
  const values = pairs.flatMap((pair) => {
    const [key = "", value = ""] = pair.trim().split("=");
    return key === name ? [value] : [];
  });
  // Another server on this host may have set a second cookie with this name.
  return values.map((value) => portal.find(role, value)).find((session) => session !== undefined);
}

export function sessionStartCookie(portal: PortalAccess, { id, role }: PortalSession): string {
  return `${cookieName(portal, role)}=${id}; ${attributes(portal, role)}`;
}

export function sessionEndCookie(portal: PortalAccess, role: PortalRole): string {
  return `${cookieName(portal, role)}=; ${attributes(portal, role)}; Max-Age=0`;
}

/** Contains the port, because browsers send cookies to all ports of a host. */
function cookieName({ port }: PortalAccess, role: PortalRole): string {
  return `checkout_portal_${role === "administrator" ? "admin_" : ""}${port}`;
}

/** No Domain attribute, so that browsers send the cookie only to this host. */
function attributes({ origin }: PortalAccess, role: PortalRole): string {
  const secureAttribute = origin.startsWith("https:") ? "; Secure" : "";
  return `Path=${homePathOf(role)}; HttpOnly; SameSite=Strict${secureAttribute}`;
}

export const SIGN_OUT_EVERYWHERE_PATH = "/portal/sign-out-everywhere";
