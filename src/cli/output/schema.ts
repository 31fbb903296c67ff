import * as z from "zod/mini";
import { CONTROL_OPERATIONS } from "../../core/control/operations.ts";
import { commandMapSchema } from "../../core/help/map.ts";
import { rulesOf, wireSchema } from "../../core/shape/wire-names.ts";
import type { Kind } from "./kind.ts";
import { KINDS, type KindName } from "./kinds.ts";

type Json = Readonly<Record<string, unknown>>;

export function outputSchema(): Json {
  const names = Object.keys(KINDS) as readonly KindName[];
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://hosted-checkout.invalid/output.schema.json",
    title: "Results of the command line with --json",
    description: "Each definition is a kind of result. Later versions may add fields.",
    $defs: Object.fromEntries(
      names.map((name) => [name, { description: KINDS[name].about, ...schemaOf(name) }]),
    ),
  };
}

export function schemaOf(name: KindName, { isClosed = false } = {}): Json {
  if (name === "error")
    return { ...shapeSchema(name, isClosed), additionalProperties: { type: ["string", "number"] } };
  if (name === "help")
    return { ...commandMapSchema(), $id: "https://hosted-checkout.invalid/help.schema.json" };
  return shapeSchema(name, isClosed);
}

function shapeSchema(name: KindName, isClosed: boolean): Json {
  const [onlySchema, ...tail] = shapesOf(KINDS[name]).map((shape) => jsonSchema(shape, isClosed));
  return onlySchema !== undefined && tail.length === 0 ? onlySchema : { anyOf: [onlySchema, ...tail] };
}

function shapesOf({ operations = [], shape }: Kind): readonly z.ZodMiniType[] {
  const answers = operations.map((name) => CONTROL_OPERATIONS[name].answer);
  return [...new Set([...answers, ...(shape === undefined ? [] : [shape])])];
}

function jsonSchema(shape: z.ZodMiniType, isClosed: boolean): Json {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(wireSchema(shape), {
    io: "input",
    override: ({ zodSchema, jsonSchema: result }) => {
      if (isClosed && result.properties !== undefined) result.additionalProperties ??= false;
      Object.assign(result, rulesOf(zodSchema));
    },
  });
  return schema;
}
