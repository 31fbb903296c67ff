/** Completes a port, or an address without a scheme, to an http address; undefined for any other text. */
export function completeAddress(text: string): string | undefined {
  const completeUrl = /^\d{1,5}$/.test(text) ? `http://localhost:${text}` : `http://${text}`;
  if (!/^[\w.[\]:-]+(\/|$)/.test(text) || text.includes("//") || hostSpelledIn(completeUrl) === undefined)
    return undefined;
  return URL.canParse(completeUrl) ? completeUrl : undefined;
}

/** The host as the user wrote it; undefined if the text is not an http or https address. */
export function hostSpelledIn(text: string): string | undefined {
  return /^https?:\/\/([^/?#@\\\s]+?)(?::\d+)?(?:[/?]|$)/.exec(text)?.[1];
}
