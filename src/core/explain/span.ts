import { toIso } from "../clock.ts";
import type { Translator, Words } from "../language.ts";
import { printable } from "../text.ts";
import type { StoryEntry } from "./explanation.ts";

const UNITS: readonly (readonly [unit: Words, size: number])[] = [
  [["d", "天"], 86_400_000],
  [["h", "小时"], 3_600_000],
  [["min", "分钟"], 60_000],
  [["s", "秒"], 1000],
];
const MILLISECOND: readonly [unit: Words, size: number] = [["ms", "毫秒"], 1];

export function spanText(milliseconds: number, say: Translator): string {
  const [unit, size] = UNITS.find(([, unitSize]) => milliseconds >= unitSize) ?? MILLISECOND;
  return `${Math.round(milliseconds / size)} ${say(unit)}`;
}

export function timedLine(at: number, text: string): string {
  return `${toIso(at)}  ${printable(text)}`;
}

export function entryLine({ at, of, text }: Pick<StoryEntry, "at" | "of" | "text">): string {
  return timedLine(at, `${of === null ? "" : "  "}${text}`);
}
