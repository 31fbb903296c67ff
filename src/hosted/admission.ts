import { CONTROL_PREFIX } from "../core/control/protocol.ts";
import { storeTokenBits } from "../core/credential.ts";
import type { HostedSettings } from "./shared/settings.ts";
import { areaOf } from "../sandbox/areas.ts";
import { OWNER } from "../sandbox/access/caller.ts";
import { admitToControl } from "../sandbox/control-admission.ts";
import { hostsByAudience } from "../sandbox/sandbox.ts";
import { guardRequest, refuseBrowsers, requireOwnPage } from "../web/guard.ts";
import type { HttpRequest } from "../world.ts";
import type { HostedEnv } from "./env.ts";
import { hostedHosts } from "./sandbox.ts";

const CHECKED_HEADERS = ["host", "expect", "origin", "authorization", "sec-fetch-site"] as const;

/** Refuses requests before they reach a Durable Object, because any web page can send any number of requests. */
export function createAdmissionCheck(env: HostedEnv): (request: Request, url: URL) => boolean {
  const { SETTINGS, CONTROL_TOKEN: controlToken, ADMIN_TOKEN: adminToken } = env;
  const hosts = hostsByAudience(hostedHosts(SETTINGS));
  // Only the object of the token's store knows whether the token exists, so any well-formed token is admitted here.
  const identify = (_kind: "token", token: string) =>
    storeTokenBits(token) === undefined ? undefined : OWNER;
  const control = { controlToken, adminToken, tokens: { identify } };
  return (request, url) => {
    const checkedRequest = toHttpRequest(request, url);
    const isHostAllowed = guardRequest(checkedRequest, hosts[areaOf(checkedRequest).audience]).ok;
    return isHostAllowed && isAdmitted(checkedRequest, SETTINGS, control);
  };
}

function isAdmitted(
  request: HttpRequest,
  { origin }: Pick<HostedSettings, "origin">,
  control: Parameters<typeof admitToControl>[0],
): boolean {
  const { method, target } = request;
  if (target.startsWith("/v1/")) return refuseBrowsers(request).ok;
  if (target.startsWith(CONTROL_PREFIX)) return admitToControl(control, request).ok;
  return method !== "POST" || requireOwnPage(request, origin).ok;
}

function toHttpRequest({ method, headers }: Request, { pathname, search, host }: URL): HttpRequest {
  const rawHeaders = CHECKED_HEADERS.flatMap((name) => {
    const value = headers.get(name) ?? (name === "host" ? host : null);
    return value === null ? [] : [name, value];
  });
  return { method, target: pathname + search, rawHeaders, body: new Uint8Array() };
}
