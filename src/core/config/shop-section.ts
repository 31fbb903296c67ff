import { applyEdits, modify } from "jsonc-parser";
import { snakeCase } from "../text.ts";

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: "\n" } } as const;

export function shopSectionFields(
  section: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const fields = Object.entries(section).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(fields.map(([name, value]) => [snakeCase(name), value]));
}

export function withShopSection(text: string, section: Readonly<Record<string, unknown>>): string {
  const shop = shopSectionFields(section);
  const oldText = text.trim() === "" ? "{}\n" : text;
  const editedText = applyEdits(oldText, modify(oldText, ["shop"], shop, FORMAT));
  return editedText.endsWith("\n") ? editedText : `${editedText}\n`;
}
