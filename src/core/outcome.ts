import type { ErrorCode } from "./errors.ts";
import type { Words } from "./language.ts";

/**
 * An expected refusal: a code of the closed list, and a sentence that says what was expected and what came (decision
 * 4).
 */
export type Refusal = {
  readonly code: ErrorCode;
  readonly message: string;
  /** The message in Chinese, where a page can show it. */
  readonly chinese?: string | undefined;
  /** Whole seconds until a new try can succeed; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Methods that the resource has; sent as `Allow`. */
  readonly allow?: string;
  /** The field of the request that was refused, by its name on the wire; a form shows the message there. */
  readonly field?: string | undefined;
  /** The id of the checkout that a create was in conflict with; only the request log keeps it. */
  readonly met?: string | undefined;
};

/** A value, or the reason why there is none. Expected refusals are values; only unexpected failures are thrown. */
export type Outcome<Value, Reason = Refusal> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Reason };

/** Wraps a value as a success. */
export function accept<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value };
}

/** Wraps a reason as a refusal; what a page can show is said in both languages. */
export function refuse(
  code: ErrorCode,
  said: string | Words,
  hints: Omit<Refusal, "code" | "message" | "chinese"> = {},
): { readonly ok: false; readonly refusal: Refusal } {
  if (typeof said === "string") return { ok: false, refusal: { code, message: said, ...hints } };
  const [message, chinese] = said;
  return { ok: false, refusal: { code, message, chinese, ...hints } };
}

/** The message of a refusal in both languages; in English alone where no page was to show it. */
export function wordsOf({ message, chinese = message }: Pick<Refusal, "message" | "chinese">): Words {
  return [message, chinese];
}

/** Says of a refusal which field it is about; one that says so itself stays. */
export function inField<Value>(field: string, outcome: Outcome<Value>): Outcome<Value> {
  return outcome.ok ? outcome : { ok: false, refusal: { field, ...outcome.refusal } };
}

/** What a value becomes; a refusal stays. */
export function mapped<Value, Next, Reason>(
  outcome: Outcome<Value, Reason>,
  next: (value: Value) => Next,
): Outcome<Next, Reason> {
  return outcome.ok ? accept(next(outcome.value)) : outcome;
}

/** Whether what was thrown is an error, also one of another realm: in jest Node's own errors are of another one. */
export function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === "[object Error]";
}
/** A path that leads to something else than an ordinary file of a size that is read. Nothing of it was read. */
export class FileRefused extends Error {
  override readonly name = "FileRefused";

  /** Goes on from the path: `is a pipe, not an ordinary file`. */
  readonly why: string;

  constructor(path: string, why: string) {
    super(`${path} ${why}`);
    this.why = why;
  }
}
