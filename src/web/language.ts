import { parseAccept } from "hono/utils/accept";

/** The languages that pages are written in: English and Simplified Chinese, by the primary tag that asks for them. */
export type Language = "en" | "zh";

/** The language that a browser would rather see, by its Accept-Language header; English where it asks for neither. */
export function preferredLanguage(acceptLanguage: string): Language {
  for (const { type, q } of parseAccept(acceptLanguage)) {
    const [primary = ""] = type.toLowerCase().split("-");
    if (q > 0 && (primary === "en" || primary === "zh")) return primary;
  }
  return "en";
}
