import * as z from "zod/mini";
import { snakeCase } from "../../src/core/text.ts";
import type { Commented } from "./shape-comments.ts";

/** A shape that has a type of its own. */
export type NamedShape = {
  readonly schema: z.core.$ZodType;
  /** Whether the type has the names and values of the wire. */
  readonly onWire?: boolean;
  readonly comments?: Commented;
};
/** The shapes that have a type of their own, by its name. */
export type NamedShapes = Readonly<Record<string, NamedShape>>;
/** The names of types, by their shapes. */
type TypeNames = ReadonlyMap<z.core.$ZodType, string>;

type Place = {
  readonly names: TypeNames;
  readonly onWire: boolean;
  readonly comments: Commented | undefined;
  readonly indent: string;
};

/**
 * The declarations of types that are inferred from shapes, written out: `export type Name = …;` of a text becomes the
 * type of the shape with this name, and keeps its comment. Comments of the fields stand above the fields.
 */
export function writtenOut(text: string, shapes: NamedShapes): string {
  const names = new Map(Object.entries(shapes).map(([name, { schema }]) => [schema, name]));
  return text.replaceAll(/^export type (\w+) = .*;$/gm, (line, name: string) => {
    const shape = shapes[name];
    if (shape === undefined) return line;
    const { schema, onWire = false, comments } = shape;
    const others = new Map([...names].filter(([, other]) => other !== name));
    return `export type ${name} = ${typeText(schema, { names: others, onWire, comments, indent: "" })};`;
  });
}

function typeText(schema: z.core.$ZodType, place: Place): string {
  const known = place.names.get(schema);
  if (known !== undefined) return known;
  const inner = (one: z.core.$ZodType): string => typeText(one, place);
  const list = (item: string): string =>
    `readonly ${item.includes(" | ") && !item.startsWith("{") ? `(${item})` : item}[]`;
  if (schema instanceof z.ZodMiniObject) return objectText(schema, place);
  if (schema instanceof z.ZodMiniArray) return list(inner(schema.def.element));
  if (schema instanceof z.ZodMiniRecord) return `Readonly<Record<string, ${inner(schema.def.valueType)}>>`;
  if (schema instanceof z.ZodMiniOptional) return `${inner(schema.def.innerType)} | undefined`;
  if (schema instanceof z.ZodMiniNullable) return `${inner(schema.def.innerType)} | null`;
  if (schema instanceof z.ZodMiniUnion) return schema.def.options.map(inner).join(" | ");
  if (schema instanceof z.ZodMiniEnum) return Object.values(schema.def.entries).map(literal).join(" | ");
  if (schema instanceof z.ZodMiniLiteral) return schema.def.values.map(literal).join(" | ");
  if (schema instanceof z.ZodMiniPipe) return inner(place.onWire ? schema.def.in : schema.def.out);
  if (schema instanceof z.ZodMiniDate) return "Date";
  if (schema instanceof z.ZodMiniString) return "string";
  if (schema instanceof z.ZodMiniNumber) return "number";
  if (schema instanceof z.ZodMiniBoolean) return "boolean";
  throw new Error("a shape of the kit's types is of a kind that has no type here");
}

function objectText(schema: z.ZodMiniObject, { comments, indent, ...place }: Place): string {
  const deeper = `${indent}    `;
  const fields = Object.entries<z.core.$ZodType>(schema.shape).map(([name, field]) => {
    const mark = field instanceof z.ZodMiniOptional ? "?" : "";
    const own = comments?.below.get(name);
    const type = typeText(field, { ...place, comments: own, indent: deeper });
    return `${commentText(own?.comment, deeper)}${deeper}readonly ${place.onWire ? snakeCase(name) : name}${mark}: ${type};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function commentText(comment: string | undefined, indent: string): string {
  return comment === undefined ? "" : `${indent}/*${comment.replaceAll(/\n\s*/g, `\n${indent} `)}*/\n`;
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}
