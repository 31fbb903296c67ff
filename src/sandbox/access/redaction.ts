import { redactSecrets, redactValues } from "../../core/text.ts";
import { html } from "../../web/html.ts";

/**
 * Text for a viewer or a file: a receiver's answer may contain any secret. Secrets of any form are redacted by their
 * value, also as markup and JSON write them, and all others by their form.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const writtenForms = secrets.flatMap((secret) => [
    secret,
    String(html`${secret}`("en")),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return redactSecrets(redactValues(text, writtenForms));
}
