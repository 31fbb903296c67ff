import * as z from "zod/mini";
import type { OperationName } from "../../core/control/operations.ts";

export const text = z.string();
export const textOrNull = z.nullable(text);
export const texts = z.array(text);

export type OutputKind = {
  readonly about: string;
  readonly commands: readonly string[];
  readonly jq: string;
  readonly operations?: readonly OperationName[];
  readonly shape?: z.ZodMiniType;
};
