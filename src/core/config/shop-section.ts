import { applyEdits, modify } from "jsonc-parser";
import { snakeCase } from "../text.ts";

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: "\n" } } as const;

/** The section with the names of the file; unset fields are left out. */
export function sectionInFile(section: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const fields = Object.entries(section).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(fields.map(([name, value]) => [snakeCase(name), value]));
}

/** The text of a configuration with this section `shop`; comments and all other sections are kept. */
export function withShopSection(text: string, section: Readonly<Record<string, unknown>>): string {
  const shop = sectionInFile(section);
  const oldText = text.trim() === "" ? "{}\n" : text;
  const editedText = applyEdits(oldText, modify(oldText, ["shop"], shop, FORMAT));
  return editedText.endsWith("\n") ? editedText : `${editedText}\n`;
}
