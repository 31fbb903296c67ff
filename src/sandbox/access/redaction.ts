import { redactSecrets, redactValues } from "../../core/text.ts";
import { html } from "../../web/html.ts";

/**
 * A receiver's answer may contain any secret. The given secrets are found by their value, also escaped as in
 * HTML and JSON, all others by their form.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const writtenForms = secrets.flatMap((secret) => [
    secret,
    String(html`${secret}`("en")),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return redactSecrets(redactValues(text, writtenForms));
}
