import { redactSecrets, redactValues } from "../../core/text.ts";
import { html } from "../../web/html.ts";

/**
 * Redacts the secrets in a text for a viewer or a file, because a receiver's answer may contain any secret. Redacts the
 * given secrets by their value, also escaped as in HTML and JSON, and all other secrets by their form.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const writtenForms = secrets.flatMap((secret) => [
    secret,
    String(html`${secret}`("en")),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return redactSecrets(redactValues(text, writtenForms));
}
