import * as z from "zod/mini";
import { toIso } from "../clock.ts";
import type { Words } from "../language.ts";
import { codePointLength } from "../text.ts";

export type DomainOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? Value extends Date
      ? Value
      : { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
    : Value;

/** Throws if the schema refuses the values. */
export function decodeOrThrow<Schema extends z.ZodMiniType>(
  schema: Schema,
  values: DeepReadonly<z.input<Schema>>,
): DomainOf<Schema> {
  // zod's types require mutable values, but zod does not change them; `DomainOf` only adds `readonly`.
  return z.decode(schema, values as z.input<Schema>) as DomainOf<Schema>;
}

export function recordOf<Fields extends object>(
  entries: readonly (readonly [keyof Fields, Fields[keyof Fields]])[],
): Fields {
  return Object.fromEntries(entries) as Fields;
}

/** zod reports the English message, and passes the Chinese message on in `params`. */
export function zodErrorOf([error, chinese]: Words) {
  return { error, params: { chinese } };
}

const ISO_CODEC = { decode: (text: string) => Date.parse(text), encode: toIso };

/** A moment in a request: ISO 8601 with a valid date on the wire; milliseconds in the domain. */
export const momentInRequest = z.codec(z.iso.datetime({ offset: true }), z.number(), ISO_CODEC);

/** A time in an answer: ISO 8601 in UTC on the wire, milliseconds in the domain. */
export const moment = z.codec(z.string().check(z.meta({ format: "date-time" })), z.number(), ISO_CODEC);

export function wholeNumber(minimum: number, maximum?: number) {
  const number = z.int().check(z.minimum(minimum));
  return maximum === undefined ? number : number.check(z.maximum(maximum));
}

/** `maxLength` is in code points, as in JSON Schema. */
export function textUpTo(maxLength: number) {
  return z.string().check(
    z.refine(
      (text) => codePointLength(text) <= maxLength,
      zodErrorOf([`expected at most ${maxLength} characters`, `最多 ${maxLength} 个字符`]),
    ),
    z.meta({ maxLength }),
  );
}

export function nonEmptyText(maxLength: number) {
  return textUpTo(maxLength).check(z.minLength(1));
}

export function wholeNumberInQuery(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const text = z.string().check(
    z.refine(
      (digits) => /^(?:0|[1-9]\d*)$/.test(digits),
      zodErrorOf(["expected a whole number", "应为整数"]),
    ),
    z.meta({ type: "integer", minimum, maximum }),
  );
  return z.codec(text, wholeNumber(minimum, maximum), {
    decode: Number,
    encode: String,
  });
}
