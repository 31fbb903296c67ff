/**
 * A request of v1 as a command for a shell. The API key is that of the environment, because it is kept nowhere; the body
 * is as it was logged, so that a secret in it is redacted.
 */
export function curlCommand({
  method,
  url,
  key,
  body,
}: {
  readonly method: string;
  readonly url: string;
  /** The Idempotency-Key; null for none. */
  readonly key: string | null;
  /** Empty for none. */
  readonly body: string;
}): string {
  const parts = [
    `curl -i -X ${quoted(method)} ${quoted(url)}`,
    '-H "Authorization: Bearer $CHECKOUT_API_KEY"',
    ...(body === "" ? [] : ["-H 'Content-Type: application/json'"]),
    ...(key === null ? [] : [`-H ${quoted(`Idempotency-Key: ${key}`)}`]),
    ...(body === "" ? [] : [`--data-raw ${quoted(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

/** A word of a POSIX shell that means the text itself. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
