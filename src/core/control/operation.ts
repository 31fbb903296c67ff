import { errorWords } from "../shape/issue-words.ts";
import * as z from "zod/mini";
import { toIso } from "../clock.ts";
import { codePointLength } from "../text.ts";
import { lazyValue } from "../lazy.ts";
import type { ErrorCode } from "../errors.ts";
import { CONTROL_ROOT, type ControlRole } from "./protocol.ts";

/** One operation of the control API, as used by the router, the client and the description (decision 43). */
export type Operation<
  Request extends z.ZodMiniType = z.ZodMiniType,
  Answer extends z.ZodMiniType = z.ZodMiniType,
> = {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path, which may contain `{store_id}` and `{id}`. */
  readonly path: string;
  readonly summary: string;
  /** The effect, the answer and the refusals, in one to four sentences, complete without the summary. */
  readonly description: string;
  /** The role whose token is required. */
  readonly role: ControlRole;
  /** The schema of the body of a POST or the query of a GET; `undefined` if there is no input. */
  readonly request: Request;
  readonly answer: Answer;
  /** Whether the answer has no envelope. */
  readonly bare: boolean;
  /** Whether the connection stays open after the answer until its lease ends (decision 66). */
  readonly lasting: boolean;
  /**
   * Whether the operation waits while its store is being erased, and an erasure waits for the operation (decision 91).
   * False for operations that erase, and for operations that only wait for something outside the store.
   */
  readonly entersStore: boolean;
  /** The operation's own refusals, in addition to the refusals of every operation. */
  readonly refusals: readonly ErrorCode[];
};

/**
 * The row of an operation. Its schemas are made at their first use, because a command calls few operations. Defaults:
 * method GET, no input, role `control`, an envelope, no lasting connection, `entersStore`, and no refusals except
 * `not_found`, which every operation on a store has.
 */
type Row<Request extends z.ZodMiniType, Answer extends z.ZodMiniType> = Pick<
  Operation,
  "path" | "summary" | "description"
> &
  Partial<Omit<Operation, "request" | "answer">> & {
    readonly request?: () => Request;
    readonly answer: () => Answer;
  };

/** An operation on one store; its path is relative to the store. */
export function storeOperation<
  Answer extends z.ZodMiniType,
  Request extends z.ZodMiniType = z.ZodMiniUndefined,
>(row: Row<Request, Answer>): Operation<Request, Answer> {
  const { path, refusals = [] } = row;
  return sandboxOperation({
    ...row,
    path: `/stores/{store_id}${path}`,
    refusals: ["not_found", ...refusals],
  });
}

/** An operation on the sandbox itself. */
export function sandboxOperation<
  Answer extends z.ZodMiniType,
  Request extends z.ZodMiniType = z.ZodMiniUndefined,
>(row: Row<Request, Answer>): Operation<Request, Answer> {
  // A row without a request has the default type for it.
  const request = lazyValue(row.request ?? (() => z.undefined() as z.ZodMiniType as Request));
  const answer = lazyValue(row.answer);
  return {
    method: "GET",
    role: "control",
    bare: false,
    lasting: false,
    entersStore: true,
    refusals: [],
    ...row,
    path: `${CONTROL_ROOT}${row.path}`,
    get request() {
      return request();
    },
    get answer() {
      return answer();
    },
  };
}

/** The domain values that a schema describes, deeply read-only. */
export type DomainOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
    : Value;

const ISO = { decode: (text: string) => Date.parse(text), encode: toIso };

/** A moment in a request: ISO 8601 with a valid date on the wire; milliseconds here. */
export const momentInRequest = z.codec(z.iso.datetime({ offset: true }), z.number(), ISO);

/** A time in an answer: ISO 8601 in UTC on the wire, for every year of a clock; milliseconds here. */
export const moment = z.codec(z.string().check(z.meta({ format: "date-time" })), z.number(), ISO);

/** A whole number from a minimum, up to an optional maximum. */
export function wholeNumber(minimum: number, maximum?: number) {
  const number = z.int().check(z.minimum(minimum));
  return maximum === undefined ? number : number.check(z.maximum(maximum));
}

/** A text with a maximum length in code points, as in JSON Schema. */
export function textUpTo(maxLength: number) {
  return z.string().check(
    z.refine(
      (text) => codePointLength(text) <= maxLength,
      errorWords([`expected at most ${maxLength} characters`, `最多 ${maxLength} 个字符`]),
    ),
    z.meta({ maxLength }),
  );
}

/** A text with a maximum length in code points and at least one character. */
export function nonEmptyText(maxLength: number) {
  return textUpTo(maxLength).check(z.minLength(1));
}

/** A whole number in a query: a text of digits, as in JSON. */
export function wholeNumberInQuery(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const text = z.string().check(
    z.refine(
      (digits) => /^(?:0|[1-9]\d*)$/.test(digits),
      errorWords(["expected a whole number", "应为整数"]),
    ),
    z.meta({ type: "integer", minimum, maximum }),
  );
  return z.codec(text, wholeNumber(minimum, maximum), {
    decode: Number,
    encode: String,
  });
}
