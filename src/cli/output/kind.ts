import * as z from "zod/mini";
import type { OperationName } from "../../core/control/operations.ts";

export const text = z.string();
export const textOrNull = z.nullable(text);
export const texts = z.array(text);

export type Kind = {
  /** A description of the result, for the documentation. */
  readonly about: string;
  /** The commands that print it, without `checkout`. */
  readonly commands: readonly string[];
  /** A jq filter that reads the value that scripts need most often. */
  readonly jq: string;
  /** The operations whose answers are of this kind. */
  readonly operations?: readonly OperationName[];
  /** The shape of results that are not answers of operations. */
  readonly shape?: z.ZodMiniType;
};
