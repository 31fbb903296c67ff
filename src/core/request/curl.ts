import { quotedForShell } from "../text.ts";

/** A request of v1 as a person repeats it. */
type Repeated = {
  readonly method: string;
  /** Under the base URL, which ends with the version: `/v1/orders`. */
  readonly path: string;
  /** Names and values alternating. */
  readonly headers: readonly string[];
  readonly body: string;
};

/** Headers that curl writes itself, or that belong to the connection or to the client that it was. */
const OWN =
  /^(host|connection|content-length|transfer-encoding|expect|keep-alive|accept-encoding|user-agent|accept|te|trailer|upgrade)$/i;
const CREDENTIAL = /^(authorization|proxy-authorization|cookie)$/i;
const PLAIN_PATH = /^[\w\-./%~]*$/;

/**
 * The line that sends a request again. The API key is `$CHECKOUT_API_KEY`, the base URL `$CHECKOUT_BASE_URL`. Undefined for
 * a request that no command line can hold: one with a NUL.
 */
export function curlOf({ method, path, headers, body }: Repeated): string | undefined {
  if ([path, ...headers, body].some((text) => text.includes("\0"))) return undefined;
  const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? ""] as const] : []));
  const sent = pairs.flatMap(([name, value]) => {
    if (OWN.test(name)) return [];
    if (!CREDENTIAL.test(name)) return [`-H ${quotedForShell(`${name}: ${value}`)}`];
    return /^authorization$/i.test(name) ? ['-H "Authorization: Bearer $CHECKOUT_API_KEY"'] : [];
  });
  const below = path.replace(/^\/v1(?=\/|$)/, "");
  const address = PLAIN_PATH.test(below)
    ? `"$CHECKOUT_BASE_URL${below}"`
    : `"$CHECKOUT_BASE_URL"${quotedForShell(below)}`;
  const how = method === (body === "" ? "GET" : "POST") ? [] : [`-X ${quotedForShell(method)}`];
  const what = body === "" ? [] : [`--data-raw ${quotedForShell(body)}`];
  return ["curl -i", ...how, address, ...sent, ...what].join(" ");
}
