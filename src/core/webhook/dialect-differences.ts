import type { Dialect } from "../shape/dialect.ts";
import { DEFAULT_HEADER_NAMES, HEADER_KINDS, headerNamesIn } from "./signature.ts";

/** Stands for the name of something that the service does not send. */
export const NO_NAME = "–";

type NamePairs = readonly (readonly [ours: string, theirs: string | number | null | undefined])[];

/** The names that a dialect may change, by the decision that defines the sandbox's own names. */
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

/** The names of a decision that a dialect changes, each as `sandbox's name → dialect's name`. */
export function differencesOn(dialect: Dialect | undefined, decision: number): readonly string[] {
  const namePairs = dialect === undefined ? [] : (NAMES_BY_DECISION[decision]?.(dialect) ?? []);
  return namePairs.flatMap(([ourName, theirName]) =>
    theirName === undefined || theirName === ourName ? [] : [`${ourName} → ${theirName ?? NO_NAME}`],
  );
}

/** The names that a dialect changes, by default in all decisions, as one text. */
export function differencesText(
  dialect: Dialect,
  decisions = Object.keys(NAMES_BY_DECISION).map(Number),
): string {
  return decisions.flatMap((decision) => differencesOn(dialect, decision)).join(", ");
}

/** The decisions on names in deliveries, in the order in which a text lists the names. */
export const DELIVERY_NAME_DECISIONS = [12, 11];
