import * as z from "zod/mini";
import { CONTROL_OPERATIONS } from "../../core/control/operations.ts";
import { commandMapSchema } from "../../core/help/map.ts";
import { jsonSchemaRulesOf, wireSchema } from "../../core/shape/wire-names.ts";
import type { OutputKind } from "./kind.ts";
import { OUTPUT_KINDS, type OutputKindName } from "./kinds.ts";

type Json = Readonly<Record<string, unknown>>;

export function outputSchema(): Json {
  const names = Object.keys(OUTPUT_KINDS) as readonly OutputKindName[];
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://hosted-checkout.invalid/output.schema.json",
    title: "Results of the command line with --json",
    description: "Each definition is a kind of result. Later versions may add fields.",
    $defs: Object.fromEntries(
      names.map((name) => [name, { description: OUTPUT_KINDS[name].about, ...schemaOf(name) }]),
    ),
  };
}

export function schemaOf(name: OutputKindName, { isClosed = false } = {}): Json {
  if (name === "error")
    return { ...shapeSchema(name, isClosed), additionalProperties: { type: ["string", "number"] } };
  if (name === "help")
    return { ...commandMapSchema(), $id: "https://hosted-checkout.invalid/help.schema.json" };
  return shapeSchema(name, isClosed);
}

function shapeSchema(name: OutputKindName, isClosed: boolean): Json {
  const [onlySchema, ...tail] = shapesOf(OUTPUT_KINDS[name]).map((shape) => jsonSchema(shape, isClosed));
  return onlySchema !== undefined && tail.length === 0 ? onlySchema : { anyOf: [onlySchema, ...tail] };
}

function shapesOf({ operations = [], shape }: OutputKind): readonly z.ZodMiniType[] {
  const answers = operations.map((name) => CONTROL_OPERATIONS[name].answer);
  return [...new Set([...answers, ...(shape === undefined ? [] : [shape])])];
}

function jsonSchema(shape: z.ZodMiniType, isClosed: boolean): Json {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(wireSchema(shape), {
    io: "input",
    override: ({ zodSchema, jsonSchema: result }) => {
      if (isClosed && result.properties !== undefined) result.additionalProperties ??= false;
      Object.assign(result, jsonSchemaRulesOf(zodSchema));
    },
  });
  return schema;
}
