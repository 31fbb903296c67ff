/**
 * Completes a port such as `3000`, or an address without a scheme, to an http URL. Returns undefined for other texts.
 */
export function completeAddress(text: string): string | undefined {
  const completeUrl = /^\d{1,5}$/.test(text) ? `http://localhost:${text}` : `http://${text}`;
  if (!/^[\w.[\]:-]+(\/|$)/.test(text) || text.includes("//") || spelledHostOf(completeUrl) === undefined)
    return undefined;
  return URL.canParse(completeUrl) ? completeUrl : undefined;
}

/** Returns the host as written, before URL parsing normalises it; undefined if the text is not an http(s) URL. */
export function spelledHostOf(text: string): string | undefined {
  return /^https?:\/\/([^/?#@\\\s]+?)(?::\d+)?(?:[/?]|$)/.exec(text)?.[1];
}
