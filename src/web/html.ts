import { html as escaped, raw } from "hono/html";
import { printable } from "../core/text.ts";

/** Markup that is safe to send. Only `html` and `trusted` make it. */
export type Html = ReturnType<typeof raw>;

/** What may stand in markup: a string is text, whoever wrote it. */
type Content = Html | string | number | null | readonly Html[];

/**
 * Markup with its values filled in: `html`<p>${text}</p>``. Every string becomes text, also inside a quoted attribute,
 * with control, bidi and invisible characters visible as `\u{…}` (design section 8).
 */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  const filled = escaped(parts, ...values.map(asText));
  if (filled instanceof Promise) throw new Error("markup is made of values, never of promises");
  return filled;
}

/** Markup that another library made from values that are ours. */
export function trusted(markup: string): Html {
  return raw(markup);
}

function asText(value: Content): Content {
  return typeof value === "string" ? printable(value) : value;
}
