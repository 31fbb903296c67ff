import * as z from "zod/mini";
import { snakeCase } from "../../src/core/text.ts";

/** The shapes that have a type of their own, by its name. */
type NamedShapes = Readonly<Record<string, z.core.$ZodType>>;
/** The names of types, by their shapes. */
type TypeNames = ReadonlyMap<z.core.$ZodType, string>;

/**
 * The declarations of types that are inferred from shapes, written out: `export type Name = …;` of a text becomes the
 * type of the shape with this name, as it is on the wire, and keeps its comment.
 */
export function writtenOut(text: string, shapes: NamedShapes): string {
  const names = new Map(Object.entries(shapes).map(([name, shape]) => [shape, name]));
  return text.replaceAll(/^export type (\w+) = .*;$/gm, (line, name: string) => {
    const shape = shapes[name];
    if (shape === undefined) return line;
    const others = new Map([...names].filter(([, other]) => other !== name));
    return `export type ${name} = ${typeText(shape, others, "")};`;
  });
}

function typeText(schema: z.core.$ZodType, names: TypeNames, indent: string): string {
  const known = names.get(schema);
  if (known !== undefined) return known;
  const inner = (one: z.core.$ZodType): string => typeText(one, names, indent);
  const list = (item: string): string =>
    `readonly ${item.includes(" | ") && !item.startsWith("{") ? `(${item})` : item}[]`;
  if (schema instanceof z.ZodMiniObject) return objectText(schema, names, indent);
  if (schema instanceof z.ZodMiniArray) return list(inner(schema.def.element));
  if (schema instanceof z.ZodMiniRecord) return `Readonly<Record<string, ${inner(schema.def.valueType)}>>`;
  if (schema instanceof z.ZodMiniOptional) return `${inner(schema.def.innerType)} | undefined`;
  if (schema instanceof z.ZodMiniNullable) return `${inner(schema.def.innerType)} | null`;
  if (schema instanceof z.ZodMiniUnion) return schema.def.options.map(inner).join(" | ");
  if (schema instanceof z.ZodMiniEnum) return Object.values(schema.def.entries).map(literal).join(" | ");
  if (schema instanceof z.ZodMiniLiteral) return schema.def.values.map(literal).join(" | ");
  if (schema instanceof z.ZodMiniPipe) return inner(schema.def.in);
  if (schema instanceof z.ZodMiniString) return "string";
  if (schema instanceof z.ZodMiniNumber) return "number";
  if (schema instanceof z.ZodMiniBoolean) return "boolean";
  throw new Error("a shape of the kit's types is of a kind that has no type here");
}

function objectText(schema: z.ZodMiniObject, names: TypeNames, indent: string): string {
  const deeper = `${indent}    `;
  const fields = Object.entries<z.core.$ZodType>(schema.shape).map(([name, field]) => {
    const mark = field instanceof z.ZodMiniOptional ? "?" : "";
    return `${deeper}readonly ${snakeCase(name)}${mark}: ${typeText(field, names, deeper)};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}
