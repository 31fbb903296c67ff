import type { Dialect } from "../shape/dialect.ts";
import { DEFAULT_HEADER_NAMES, HEADER_KINDS, headerNamesIn } from "./signature.ts";

/** Shown for a field or a header that the service does not send. */
const NO_NAME = "–";
// Stored steps of drills contain these separators, so they must not change.
const ARROW = " → ";
const SEPARATOR = ", ";

type NamePairs = readonly (readonly [ours: string, theirs: string | number | null | undefined])[];

const NAMES_BY_DECISION: Readonly<Record<number, (dialect: Dialect) => NamePairs>> = {
  4: ({ errors = {} }) =>
    Object.entries(errors).map(([ourCode, { code = ourCode, status }]) => [
      ourCode,
      [code, status].filter((part) => part !== undefined).join(" "),
    ]),
  5: ({ replay }) => [
    ["replay 201", replay?.status],
    ["Idempotent-Replayed", replay?.header],
  ],
  7: ({ both_forms: form }) => [["price_id and amount", form]],
  9: ({ unknown_session: status }) => [["unknown session 404", status]],
  11: ({ event_fields: fields, events, times }) => [
    ...Object.entries({ ...fields, ...events }),
    ["iso", times],
  ],
  12: (dialect) => {
    const [ourNames, theirNames] = [DEFAULT_HEADER_NAMES, headerNamesIn(dialect)];
    return [
      ...HEADER_KINDS.map((kind) => [ourNames[kind], theirNames[kind]] as const),
      ["hex", dialect.signature_form],
    ];
  },
};

export function dialectDifferencesOn(dialect: Dialect | undefined, decision: number): readonly string[] {
  const namePairs = dialect === undefined ? [] : (NAMES_BY_DECISION[decision]?.(dialect) ?? []);
  return namePairs.flatMap(([ourName, theirName]) =>
    theirName === undefined || theirName === ourName ? [] : [`${ourName}${ARROW}${theirName ?? NO_NAME}`],
  );
}

export function differencesText(
  dialect: Dialect,
  decisions = Object.keys(NAMES_BY_DECISION).map(Number),
): string {
  return decisions.flatMap((decision) => dialectDifferencesOn(dialect, decision)).join(SEPARATOR);
}

export function sentNamesIn(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(SEPARATOR).map((pair) => pair.split(ARROW));
  return new Map(
    pairs.flatMap(([ourName = "", theirName = NO_NAME]) =>
      theirName === NO_NAME ? [] : [[ourName, theirName] as const],
    ),
  );
}

export const DELIVERY_NAME_DECISIONS = [12, 11];
