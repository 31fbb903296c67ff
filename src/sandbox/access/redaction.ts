import { redactSecrets, redactValues } from "../../core/text.ts";
import { html } from "../../web/html.ts";

/**
 * Text for a viewer or a file: a receiver's answer may contain any secret. Secrets of any form are redacted by their
 * value, also as markup and JSON write them, and all others by their form.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const written = secrets.flatMap((one) => [
    one,
    String(html`${one}`("en")),
    JSON.stringify(one).slice(1, -1),
  ]);
  return redactSecrets(redactValues(text, written));
}
