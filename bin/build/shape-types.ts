import * as z from "zod/mini";
import { snakeCase } from "../../src/core/text.ts";
import { NAMED_SHAPES } from "../../src/core/config/schema.ts";
import { checkoutWire } from "../../src/core/checkout/wire-shapes.ts";
import * as kitShapes from "../../src/testing/shapes.ts";
import { commentsOf, type FieldComments } from "./shape-comments.ts";

type NamedShape = {
  readonly schema: z.core.$ZodType;
  /** Uses the wire's field names (snake_case) and values in the type. */
  readonly hasWireNames?: boolean;
  readonly comments?: FieldComments;
};

/** By the name of the inferred type, which the package contains written out. */
const SHAPES: Readonly<Record<string, NamedShape>> = {
  ...Object.fromEntries(
    Object.entries(NAMED_SHAPES).map(([name, schema]) => [name, { schema, hasWireNames: true }]),
  ),
  // The type of `addedFault` is `AddedFault`.
  ...Object.fromEntries(
    Object.entries(kitShapes).map(([name, schema]) => [
      name.replace(/^./, (first) => first.toUpperCase()),
      { schema, comments: commentsOf("src/testing/shapes.ts", name) },
    ]),
  ),
  WebhookCheckout: { schema: checkoutWire },
  WebhookStatus: { schema: checkoutWire.shape.status },
};
const NAME_BY_SCHEMA = new Map(Object.entries(SHAPES).map(([name, { schema }]) => [schema, name]));

type TypeContext = {
  /** The type being written; other named types inside it appear by name. */
  readonly type: string;
  readonly hasWireNames: boolean;
  readonly comments: FieldComments | undefined;
  readonly indent: string;
};

/**
 * Replaces `export type Name = …;` by the type of the shape with this name. Fields get the comments of the shape's
 * fields if `SHAPES` has them.
 */
export function writeOutTypes(text: string): string {
  return text.replaceAll(/^export type (\w+) = .*;$/gm, (line, type: string) => {
    const shape = SHAPES[type];
    if (shape === undefined) return line;
    const { schema, hasWireNames = false, comments } = shape;
    return `export type ${type} = ${typeText(schema, { type, hasWireNames, comments, indent: "" })};`;
  });
}

function typeText(schema: z.core.$ZodType, context: TypeContext): string {
  const knownName = NAME_BY_SCHEMA.get(schema);
  if (knownName !== undefined && knownName !== context.type) return knownName;
  const inner = (part: z.core.$ZodType): string => typeText(part, context);
  const list = (item: string): string =>
    `readonly ${item.includes(" | ") && !item.startsWith("{") ? `(${item})` : item}[]`;
  if (schema instanceof z.ZodMiniObject) return objectText(schema, context);
  if (schema instanceof z.ZodMiniArray) return list(inner(schema.def.element));
  if (schema instanceof z.ZodMiniRecord) return `Readonly<Record<string, ${inner(schema.def.valueType)}>>`;
  if (schema instanceof z.ZodMiniOptional) return `${inner(schema.def.innerType)} | undefined`;
  if (schema instanceof z.ZodMiniNullable) return `${inner(schema.def.innerType)} | null`;
  if (schema instanceof z.ZodMiniUnion) return schema.def.options.map(inner).join(" | ");
  if (schema instanceof z.ZodMiniEnum) return Object.values(schema.def.entries).map(literal).join(" | ");
  if (schema instanceof z.ZodMiniLiteral) return schema.def.values.map(literal).join(" | ");
  if (schema instanceof z.ZodMiniPipe) return inner(context.hasWireNames ? schema.def.in : schema.def.out);
  if (schema instanceof z.ZodMiniDate) return "Date";
  if (schema instanceof z.ZodMiniString) return "string";
  if (schema instanceof z.ZodMiniNumber) return "number";
  if (schema instanceof z.ZodMiniBoolean) return "boolean";
  throw new Error("a shape of the kit's types is of a kind that has no type here");
}

function objectText(schema: z.ZodMiniObject, { comments, indent, ...context }: TypeContext): string {
  const deeper = `${indent}    `;
  const fields = Object.entries<z.core.$ZodType>(schema.shape).map(([name, field]) => {
    const mark = field instanceof z.ZodMiniOptional ? "?" : "";
    const fieldComments = comments?.fields.get(name);
    const type = typeText(field, { ...context, comments: fieldComments, indent: deeper });
    const key = context.hasWireNames ? snakeCase(name) : name;
    const quotedKey = /^\w+$/.test(key) ? key : JSON.stringify(key);
    return `${commentText(fieldComments?.comment, deeper)}${deeper}readonly ${quotedKey}${mark}: ${type};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function commentText(comment: string | undefined, indent: string): string {
  return comment === undefined ? "" : `${indent}/*${comment.replaceAll(/\n\s*/g, `\n${indent} `)}*/\n`;
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}
