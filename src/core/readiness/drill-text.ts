import type { Words } from "../language.ts";
import {
  EXPECTED_RESULTS,
  FAILURE_SENTENCES,
  STEP_RESULTS,
  lostAnswerText,
  LIST_ITEMS,
  QUOTING_RESULTS,
  type DrillSentence,
} from "./drill-sentences.ts";
import { CLIENT_CAUSES } from "./drills/client-causes.ts";
import { JUDGE_CAUSES } from "./drills/judge-causes.ts";
import { JUDGED_INVARIANTS } from "./drills/judged-invariants.ts";
import {
  amountWords,
  MISSING_FIELDS,
  NOT_JUDGED,
  NOT_JUDGED_REASONS,
  NOTES,
  ruleWords,
} from "./drills/judge-sentences.ts";
import { adviceSentences } from "./drills/webhook-advice.ts";

/**
 * A text of a drill's step (expected result, result or cause) in both languages. Steps are stored and sent in English;
 * a text that no version of this program wrote, such as the merchant's own, stays unchanged.
 */
export function drillWords(text: string): Words {
  return [text, translate(text, ALL_SENTENCES) ?? text];
}

/** A network message in both languages; a text of the operating system stays unchanged. */
export function failureWords(message: string): Words {
  return [message, translate(message, OF_FAILURES) ?? message];
}

/** Translates a text by the first matching sentence; undefined if none matches. */
function translate(text: string, { fixed, shapes }: Sentences): string | undefined {
  const known = fixed.get(text);
  if (known !== undefined) return known;
  for (const { pattern, tell, within } of shapes) {
    const values = pattern.exec(text)?.slice(1);
    if (values !== undefined) return tell(...values.map((value) => translate(value, within()) ?? value))[1];
  }
  return undefined;
}

/** Sentences by their English text: fixed sentences, and patterns for sentences with values. */
type Sentences = { readonly fixed: ReadonlyMap<string, string>; readonly shapes: readonly Shape[] };

type Shape = {
  readonly pattern: RegExp;
  readonly tell: (...values: string[]) => Words;
  /** The sentences that the values can be. */
  readonly within: () => Sentences;
};

function sentences(rows: readonly DrillSentence[], within: () => Sentences): Sentences {
  const fixed = rows.filter((row) => typeof row !== "function");
  const shapes = rows.filter((row) => typeof row === "function");
  return {
    fixed: new Map(fixed),
    shapes: shapes.map((tell) => ({ pattern: patternOf(tell), tell, within })),
  };
}

/** Matches the English text of a sentence, with a group for each value. */
function patternOf(tell: (...values: string[]) => Words): RegExp {
  const [english] = tell(...Array.from({ length: tell.length }, () => VALUE));
  const source = english.split(VALUE).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${source.join("([^]*?)")}$`);
}

/** A placeholder for a value; no sentence contains this character. */
const VALUE = "\u{0}";

const NO_SENTENCES = sentences([], () => NO_SENTENCES);
const OF_FAILURES = sentences(rowsOf(FAILURE_SENTENCES), () => NO_SENTENCES);
const OF_QUOTES = sentences(rowsOf(QUOTING_RESULTS), () => OF_FAILURES);
const OF_LOST = sentences([lostAnswerText], () => OF_FAILURES);
const OF_VIEWS = sentences(rowsOf(STEP_RESULTS), () => INNER_SENTENCES);
/** Texts that can be part of another sentence. */
const INNER_SENTENCES: Sentences = [
  OF_VIEWS,
  OF_QUOTES,
  sentences(rowsOf(LIST_ITEMS), () => INNER_SENTENCES),
  OF_LOST,
].reduce(mergeSentences);

const CAUSES = [
  ...[CLIENT_CAUSES, JUDGE_CAUSES, NOTES, NOT_JUDGED_REASONS].flatMap(rowsOf),
  ...Object.values(JUDGED_INVARIANTS).map(ruleWords),
  ...Object.values(MISSING_FIELDS).map(({ note }) => note),
  ...rowsOf(NOT_JUDGED),
  amountWords,
  ...adviceSentences(),
];
const ALL_SENTENCES = [
  sentences([...rowsOf(EXPECTED_RESULTS), ...CAUSES], () => INNER_SENTENCES),
  OF_VIEWS,
  OF_QUOTES,
].reduce(mergeSentences);

function rowsOf(rows: Readonly<Record<string, DrillSentence>>): readonly DrillSentence[] {
  return Object.values(rows);
}

/** The sentences of both; sentences of the first argument take precedence. */
function mergeSentences(one: Sentences, other: Sentences): Sentences {
  return { fixed: new Map([...other.fixed, ...one.fixed]), shapes: [...one.shapes, ...other.shapes] };
}
