/** The whole address, if only its scheme or its host is missing; otherwise undefined. */
export function completeAddress(text: string): string | undefined {
  const completeUrl = /^\d{1,5}$/.test(text) ? `http://localhost:${text}` : `http://${text}`;
  if (!/^[\w.[\]:-]+(\/|$)/.test(text) || text.includes("//") || hostSpelledIn(completeUrl) === undefined)
    return undefined;
  return URL.canParse(completeUrl) ? completeUrl : undefined;
}

/** The host as the user wrote it; undefined if the text is not `scheme://host…`. */
export function hostSpelledIn(text: string): string | undefined {
  return /^https?:\/\/([^/?#@\\\s]+?)(?::\d+)?(?:[/?]|$)/.exec(text)?.[1];
}
