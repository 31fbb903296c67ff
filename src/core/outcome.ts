import type { ErrorCode } from "./errors.ts";
import type { FactValues } from "./fact.ts";
import type { Words } from "./language.ts";

export type RefusalFact = { readonly fact: string; readonly values: FactValues };

export type Refusal = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly chinese?: string | undefined;
  /** Whole seconds until another attempt can succeed; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** The methods of the resource; sent as `Allow`. */
  readonly allow?: string;
  readonly field?: string | undefined;
  readonly withoutField?: Words;
  /** The suggested next step; only the control API sends it. */
  readonly next?: string | undefined;
  /** The path of the refused field of a configuration. The message begins with the path. */
  readonly path?: readonly (string | number)[] | undefined;
  /** The id of the checkout that a create conflicts with; only the request log stores it. */
  readonly conflictingCheckoutId?: string | undefined;
  readonly told?: RefusalFact;
};

/** Expected refusals are values; only unexpected failures are thrown. */
export type Outcome<Value, Reason = Refusal> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Reason };

export type Refused = { readonly ok: false; readonly refusal: Refusal };

export function accept<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value };
}

export function prefixFieldName(field: string, { refusal }: Refused): Refused {
  const words = refusalWords(refusal);
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

export function refusalWords({ message, chinese = message }: Pick<Refusal, "message" | "chinese">): Words {
  return [message, chinese];
}

export function addField<Value>(field: string, outcome: Outcome<Value>): Outcome<Value> {
  return outcome.ok ? outcome : { ok: false, refusal: { field, ...outcome.refusal } };
}

export function mapValue<Value, Next, Reason>(
  outcome: Outcome<Value, Reason>,
  mapper: (value: Value) => Next,
): Outcome<Next, Reason> {
  return outcome.ok ? accept(mapper(outcome.value)) : outcome;
}

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

export function resultOrUndefined<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
