import * as z from "zod/mini";
import { iso } from "../clock.ts";
import { codePointLength } from "../text.ts";
import type { ErrorCode } from "../errors.ts";
import { CONTROL_ROOT, type ControlRole } from "./protocol.ts";

/** One operation of the control API, as router, client and description read it (decision 43). */
export type Operation<
  Request extends z.ZodMiniType = z.ZodMiniType,
  Answer extends z.ZodMiniType = z.ZodMiniType,
> = {
  readonly method: "GET" | "POST" | "DELETE";
  /** May hold `{store_id}` and `{id}`. */
  readonly path: string;
  readonly summary: string;
  /** What it does, what it answers and what it refuses, in a sentence or two. */
  readonly description: string;
  /** Whose token it wants. */
  readonly role: ControlRole;
  /** What the body of a POST or the query of a GET means; `undefined` where nothing is read. */
  readonly request: Request;
  readonly answer: Answer;
  /** Whether the answer goes out without the envelope around it. */
  readonly bare: boolean;
  /** Whether the answer, once it is whole, stays open until the lease that it tells of ends (decision 66). */
  readonly lasting: boolean;
  /**
   * Whether it waits while its store is being erased, and an erasure waits for it (decision 91). False for one that erases,
   * and for one that only waits for something outside of the store.
   */
  readonly entersStore: boolean;
  /** Its own refusals, beside those that every operation has. */
  readonly refusals: readonly ErrorCode[];
};

/**
 * What the row of an operation has to say. Default of the rest: the method is GET, nothing is read, the role is
 * `control`, the answer has the envelope and ends when it is whole, the operation enters its store, and has no refusals
 * beside `not_found`, which everything in a store can be.
 */
type Row<Request extends z.ZodMiniType, Answer extends z.ZodMiniType> = Pick<
  Operation<Request, Answer>,
  "path" | "summary" | "description" | "answer"
> &
  Partial<Operation<Request, Answer>>;

/** An operation on one store and what is in it; its path begins below the store. */
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
  // Rows that say nothing of a request are those whose type is that of the default.
  const request = row.request ?? (z.undefined() as z.ZodMiniType as Request);
  return {
    method: "GET",
    role: "control",
    bare: false,
    lasting: false,
    entersStore: true,
    refusals: [],
    ...row,
    request,
    path: `${CONTROL_ROOT}${row.path}`,
  };
}

/** The domain values that a schema describes, which nobody changes. */
export type DomainOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
    : Value;

const ISO = { decode: (text: string) => Date.parse(text), encode: iso };

/** A moment that a caller names: ISO 8601 on the wire, a day that exists; milliseconds here. */
export const namedMoment = z.codec(z.iso.datetime({ offset: true }), z.number(), ISO);

/** A moment that the sandbox tells: ISO 8601 in UTC on the wire, whatever year the clock was moved to; milliseconds here. */
export const moment = z.codec(z.string().check(z.meta({ format: "date-time" })), z.number(), ISO);

/** A whole number from a minimum, and up to a maximum where there is one. */
export function whole(minimum: number, maximum?: number) {
  const number = z.int().check(z.minimum(minimum));
  return maximum === undefined ? number : number.check(z.maximum(maximum));
}

/** A text of at most so many characters, counted as JSON Schema counts them: code points. */
export function upTo(maxLength: number) {
  return z.string().check(
    z.refine((text) => codePointLength(text) <= maxLength, `expected at most ${maxLength} characters`),
    z.meta({ maxLength }),
  );
}

/** The same of at least one character. */
export function nonEmpty(maxLength: number) {
  return upTo(maxLength).check(z.minLength(1));
}

/** A whole number in a query, which is text: digits as JSON has them. */
export function wholeInQuery(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const text = z.string().check(
    z.refine((digits) => /^(?:0|[1-9]\d*)$/.test(digits), "expected a whole number"),
    z.meta({ type: "integer", minimum, maximum }),
  );
  return z.codec(text, whole(minimum, maximum), {
    decode: Number,
    encode: String,
  });
}
