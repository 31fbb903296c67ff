import { headerLines } from "../../../../web/http.ts";
import type { HttpRequest } from "../../../../world.ts";
import type { PortalAccess, PortalRole, PortalSession } from "../../../runtime/portal-access.ts";

/** The administrator's pages have a sign-in of their own, with a cookie that no merchant page receives. */
const ADMIN_HOME = "/portal/admin";

export function roleOfPath(path: string): PortalRole {
  return path === ADMIN_HOME || path.startsWith(`${ADMIN_HOME}/`) ? "administrator" : "merchant";
}

export function homeOf(role: PortalRole): "/portal" | "/portal/admin" {
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
  // Of two cookies with this name, another server on this host has set one.
  return values.map((value) => portal.find(role, value)).find((session) => session !== undefined);
}

export function sessionStartCookie(portal: PortalAccess, { id, role }: PortalSession): string {
  return `${cookieName(portal, role)}=${id}; ${attributes(portal, role)}`;
}

export function sessionEndCookie(portal: PortalAccess, role: PortalRole): string {
  return `${cookieName(portal, role)}=; ${attributes(portal, role)}; Max-Age=0`;
}

/** Contains the port, because browsers send a cookie to all ports of a host. */
function cookieName({ port }: PortalAccess, role: PortalRole): string {
  return `checkout_portal_${role === "administrator" ? "admin_" : ""}${port}`;
}

/** Without a Domain attribute, browsers send the cookie only to this host. */
function attributes({ origin }: PortalAccess, role: PortalRole): string {
  const secureAttribute = origin.startsWith("https:") ? "; Secure" : "";
  return `Path=${homeOf(role)}; HttpOnly; SameSite=Strict${secureAttribute}`;
}

export const SIGN_OUT_EVERYWHERE_PATH = "/portal/sign-out-everywhere";
