import { redactSecrets, redactValues } from "../../core/text.ts";
import { html } from "../../web/html.ts";

/**
 * A receiver's answer may contain secrets. Known secrets are found by value, also when escaped in HTML or JSON; other
 * secrets by their format.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const writtenForms = secrets.flatMap((secret) => [
    secret,
    String(html`${secret}`("en")),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return redactSecrets(redactValues(text, writtenForms));
}
