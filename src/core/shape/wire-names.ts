import * as z from "zod/mini";
import { isRecord } from "../json.ts";
import { camelCase, snakeCase } from "../text.ts";
import en from "zod/v4/locales/en.js";

z.config(en());

const LEAF_TYPES: ReadonlySet<string> = new Set([
  "string",
  "number",
  "boolean",
  "enum",
  "literal",
  "null",
  "unknown",
  "undefined",
]);

const wireSchemas = new WeakMap<z.ZodMiniType, z.ZodMiniType>();

const schemaNames = new Map<z.ZodMiniType, string>();

const rulesBySchema = new WeakMap<z.ZodMiniType, JsonSchema>();
type JsonSchema = Readonly<Record<string, unknown>>;

export const wireSchemaNames = z.registry<{ id: string }>();

/** Also names schemas that are already in use. Schemas derived from them (`extend`, `omit`) get no name. */
export function nameSchemas(schemas: Readonly<Record<string, z.ZodMiniType>>): void {
  for (const [id, schema] of Object.entries(schemas)) {
    schemaNames.set(schema, id);
    const wire = wireSchemas.get(schema);
    if (wire !== undefined) wireSchemaNames.add(wire, { id });
  }
}

export function addJsonSchemaRules(schema: z.ZodMiniType, rules: JsonSchema): void {
  rulesBySchema.set(schema, rules);
}

export function jsonSchemaRulesOf(wire: z.core.$ZodType): JsonSchema | undefined {
  return rulesBySchema.get(wire as z.ZodMiniType);
}

/**
 * Fields are snake_case on the wire and camelCase in the domain; keys of records keep their names. Throws if a schema
 * cannot be encoded or two fields would share a name.
 */
export function wireSchema(schema: z.ZodMiniType): z.ZodMiniType {
  const knownSchema = wireSchemas.get(schema);
  if (knownSchema !== undefined) return knownSchema;
  const wire = derive(schema);
  wireSchemas.set(schema, wire);
  const rules = rulesBySchema.get(schema);
  if (rules !== undefined) rulesBySchema.set(wire, rules);
  const name = schemaNames.get(schema);
  if (name !== undefined) wireSchemaNames.add(wire, { id: name });
  return wire;
}

function derive(schema: z.ZodMiniType): z.ZodMiniType {
  if (schema instanceof z.ZodMiniObject) return deriveObject(schema);
  if (schema instanceof z.ZodMiniArray)
    return schema.clone({ ...schema.def, element: deriveNested(schema.def.element) });
  if (schema instanceof z.ZodMiniRecord)
    return schema.clone({ ...schema.def, valueType: deriveNested(schema.def.valueType) });
  if (schema instanceof z.ZodMiniUnion || schema instanceof z.ZodMiniDiscriminatedUnion)
    return schema.clone({ ...schema.def, options: schema.def.options.map(deriveNested) });
  if (schema instanceof z.ZodMiniOptional)
    return schema.clone({ ...schema.def, innerType: deriveNested(schema.def.innerType) });
  if (schema instanceof z.ZodMiniNullable)
    return schema.clone({ ...schema.def, innerType: deriveNested(schema.def.innerType) });
  if (schema instanceof z.ZodMiniCodec || LEAF_TYPES.has(schema.def.type)) return schema;
  throw new Error(`a control schema cannot hold ${schema.def.type}: it has no way back to the wire`);
}

function deriveNested(schema: z.core.$ZodType): z.ZodMiniType {
  return wireSchema(schema as z.ZodMiniType);
}

function deriveObject(schema: z.ZodMiniObject): z.ZodMiniType {
  const fields = Object.entries(schema.shape).map(
    ([domainName, field]) => [domainName, snakeCase(domainName), deriveNested(field)] as const,
  );
  const wireNames = new Map(fields.map(([name, wireName]) => [name, wireName]));
  const domainNames = new Map(fields.map(([name, wireName]) => [wireName, name]));
  if (domainNames.size < fields.length) {
    throw new Error(`two fields would have one name on the wire: ${[...wireNames.keys()].join(", ")}`);
  }
  const wireShape = Object.fromEntries(fields.map(([, wireName, field]) => [wireName, field]));
  const domainShape = Object.fromEntries(fields.map(([name]) => [name, z.optional(z.unknown())]));
  return z.codec(
    schema.clone({ ...schema.def, shape: wireShape, checks: [] }),
    schema.clone({ ...schema.def, shape: domainShape }),
    { decode: (value) => renameKeys(value, domainNames), encode: (value) => renameKeys(value, wireNames) },
  );
}

/** Renames the fields of a value that another program may have stored, and keeps values that the schema refuses. */
export function convertUnchecked(schema: z.core.$ZodType, value: unknown, side: "wire" | "domain"): unknown {
  const convertPart = (part: z.core.$ZodType) => (item: unknown) => convertUnchecked(part, item, side);
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable)
    return value === null || value === undefined ? value : convertPart(schema.def.innerType)(value);
  if (schema instanceof z.ZodMiniArray && Array.isArray(value))
    return value.map(convertPart(schema.def.element));
  if (schema instanceof z.ZodMiniObject && isRecord(value))
    return Object.fromEntries(
      Object.entries(schema.shape).flatMap(([name, field]) => {
        const [oldName, newName] = side === "wire" ? [name, snakeCase(name)] : [snakeCase(name), name];
        return Object.hasOwn(value, oldName) ? [[newName, convertPart(field)(value[oldName])]] : [];
      }),
    );
  const convert = side === "wire" ? z.safeEncode : z.safeDecode;
  const result = convert(deriveNested(schema), value);
  return result.success ? result.data : value;
}

function renameKeys(
  value: Readonly<Record<string, unknown>>,
  names: ReadonlyMap<string, string>,
): Record<string, unknown> {
  // A list has hundreds of these objects: `Object.fromEntries` would take three times as long.
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) result[names.get(name) ?? name] = field;
  return result;
}

export type DomainName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<DomainName<Tail>>}`
  : Name;

type InDomain<Shape> = { readonly [Name in keyof Shape & string as DomainName<Name>]: Shape[Name] };

type WireName<Name> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${WireName<Tail>}`
  : Name;

export type WireValue<Value> = Value extends readonly (infer Item)[]
  ? readonly WireValue<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value as WireName<Name>]: WireValue<Value[Name]> }
    : Value;

export type WireOf<Schema extends z.ZodMiniType> = WireValue<z.input<Schema>>;

export function toDomainFields<Shape extends object>(shape: Shape): InDomain<Shape> {
  const fields = Object.entries(shape).map(([name, field]) => [camelCase(name), field] as const);
  return Object.fromEntries(fields) as InDomain<Shape>;
}

export function toDomainNames(schema: z.ZodMiniType, text: string): string {
  const names = new Map(fieldNames(schema).map((name) => [snakeCase(name), name]));
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\w+/g, (word) => names.get(word) ?? word);
}

export function wireFieldsAt(schema: z.ZodMiniType, path: readonly PropertyKey[]): readonly string[] {
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable)
    return wireFieldsAt(schema.def.innerType as z.ZodMiniType, path);
  const [firstStep, ...laterSteps] = path;
  if (schema instanceof z.ZodMiniArray && firstStep !== undefined)
    return wireFieldsAt(schema.def.element as z.ZodMiniType, laterSteps);
  if (!(schema instanceof z.ZodMiniObject)) return [];
  if (firstStep === undefined) return Object.keys(schema.shape).map(snakeCase);
  const field = Object.entries(schema.shape).find(([name]) => snakeCase(name) === firstStep)?.[1];
  return field === undefined ? [] : wireFieldsAt(field as z.ZodMiniType, laterSteps);
}

function fieldNames(schema: z.ZodMiniType): readonly string[] {
  if (schema instanceof z.ZodMiniOptional) return fieldNames(schema.def.innerType as z.ZodMiniType);
  if (!(schema instanceof z.ZodMiniObject)) return [];
  const nestedNames = Object.values(schema.shape).flatMap((field) => fieldNames(field as z.ZodMiniType));
  return Object.keys(schema.shape).concat(nestedNames);
}
