import type { ErrorCode } from "./errors.ts";
import type { FactValues } from "./fact.ts";
import type { Words } from "./language.ts";

/** The name of a refusal's sentence in the tables of `core/refusals.ts`, and the sentence's values. */
export type RefusalFact = { readonly fact: string; readonly values: FactValues };

/** A code of the closed list and its message (decision 4). */
export type Refusal = {
  readonly code: ErrorCode;
  readonly message: string;
  /** The message in Chinese, if a page can show it. */
  readonly chinese?: string | undefined;
  /** Whole seconds until another attempt can succeed; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** The methods of the resource; sent as `Allow`. */
  readonly allow?: string;
  /** The wire name of the refused field; a form shows the message next to the field. */
  readonly field?: string | undefined;
  /** The message without the name of the field with which it begins. */
  readonly withoutField?: Words;
  /** The next step; sent by the control API, and never by v1. */
  readonly next?: string | undefined;
  /** The path of the refused field of a configuration; the message begins with it. Sent by the control API. */
  readonly path?: readonly (string | number)[] | undefined;
  /** The id of the checkout that a create conflicts with; only the request log stores it. */
  readonly conflictingCheckoutId?: string | undefined;
  /** The refusal as a fact; undefined for a refusal that is only a text. */
  readonly told?: RefusalFact;
};

/** A value, or the reason why there is none. Expected refusals are values; only unexpected failures are thrown. */
export type Outcome<Value, Reason = Refusal> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Reason };

export type Refused = { readonly ok: false; readonly refusal: Refusal };

export function accept<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value };
}

/** Puts the name of a request's field before the message of a refusal. */
export function inField(field: string, { refusal }: Refused): Refused {
  const words = wordsOf(refusal);
  const [english, chinese] = words;
  return {
    ok: false,
    refusal: {
      ...refusal,
      message: `${field}: ${english}`,
      chinese: `${field}：${chinese}`,
      field,
      withoutField: words,
    },
  };
}

/** The message of a refusal in both languages; the English message twice if there is no Chinese message. */
export function wordsOf({ message, chinese = message }: Pick<Refusal, "message" | "chinese">): Words {
  return [message, chinese];
}

/** Adds the field to a refusal, unless the refusal already names a field. */
export function addField<Value>(field: string, outcome: Outcome<Value>): Outcome<Value> {
  return outcome.ok ? outcome : { ok: false, refusal: { field, ...outcome.refusal } };
}

/** Maps an accepted value; a refusal stays unchanged. */
export function mapValue<Value, Next, Reason>(
  outcome: Outcome<Value, Reason>,
  mapper: (value: Value) => Next,
): Outcome<Next, Reason> {
  return outcome.ok ? accept(mapper(outcome.value)) : outcome;
}

/** Whether a thrown value is an error, including an error from another realm, as Node's own errors are in jest. */
export function isError(error: unknown): error is Error {
  return error instanceof Error || Object.prototype.toString.call(error) === "[object Error]";
}
/** Thrown for a path that is not a regular file of an acceptable size. */
export class FileRefused extends Error {
  override readonly name = "FileRefused";

  /** Continues a sentence after the path: `is a pipe, not an ordinary file`. */
  readonly why: string;

  constructor(path: string, why: string) {
    super(`${path} ${why}`);
    this.why = why;
  }
}

/** The result of work; undefined if the work throws. */
export function tryTo<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
