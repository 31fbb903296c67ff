import { headerPairs } from "../network/headers.ts";
import { printfCommand, quoteToCopy } from "../shell/quote.ts";

type RequestToRepeat = {
  readonly method: string;
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: string;
};

/** Headers that curl writes itself, or that belong to the connection or the original client. */
const OMITTED_HEADERS =
  /^(host|connection|content-length|transfer-encoding|expect|keep-alive|accept-encoding|user-agent|accept|te|trailer|upgrade)$/i;
const CREDENTIAL_HEADER = /^(authorization|proxy-authorization|cookie)$/i;
const PLAIN_PATH = /^[\w\-./%~]*$/;

/**
 * Builds a command line for sh, dash, bash, zsh and fish (decision 57). Returns undefined if no such line can contain
 * the path or a header.
 */
export function curlOf({ method, path, headers, body }: RequestToRepeat): string | undefined {
  const relativePath = path.replace(/^\/v1(?=\/|$)/, "");
  const methodOption = method === (body === "" ? "GET" : "POST") ? [] : ["-X", quoteToCopy(method)];
  const headerOptions = headerWords(headers).flatMap((header) => ["-H", header]);
  // A body with a line break, or that no shell word can contain, is passed through printf.
  const bodyWord = body.includes("\n") ? undefined : quoteToCopy(body);
  const bodyOption =
    body === "" ? [] : bodyWord === undefined ? ["--data-binary", "@-"] : ["--data-raw", bodyWord];
  const words = ["curl", "-i", ...methodOption, addressWord(relativePath), ...headerOptions, ...bodyOption];
  if (words.includes(undefined)) return undefined;
  const line = words.join(" ");
  return body === "" || bodyWord !== undefined ? line : `${printfCommand(body)} | ${line}`;
}

function headerWords(headers: readonly string[]): (string | undefined)[] {
  return headerPairs(headers).flatMap(([name, value]) => {
    if (OMITTED_HEADERS.test(name)) return [];
    if (!CREDENTIAL_HEADER.test(name)) return [quoteToCopy(`${name}: ${value}`)];
    return /^authorization$/i.test(name) ? ['"Authorization: Bearer $CHECKOUT_API_KEY"'] : [];
  });
}

function addressWord(relativePath: string): string | undefined {
  if (PLAIN_PATH.test(relativePath)) return `"$CHECKOUT_BASE_URL${relativePath}"`;
  const quotedPath = quoteToCopy(relativePath);
  return quotedPath === undefined ? undefined : `"$CHECKOUT_BASE_URL"${quotedPath}`;
}
