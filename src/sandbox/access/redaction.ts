import { redactSecrets, redactValues } from "../../core/text.ts";
import { html } from "../../web/html.ts";

/**
 * Redacts the secrets in a text for a viewer or a file: a receiver's answer may contain any secret. The given secrets
 * are redacted by their value, also as escaped in HTML and JSON, and all others by their form.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const writtenForms = secrets.flatMap((secret) => [
    secret,
    String(html`${secret}`("en")),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return redactSecrets(redactValues(text, writtenForms));
}
