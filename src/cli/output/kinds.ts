import * as z from "zod/mini";
import { text, type OutputKind } from "./kind.ts";
import { PAYMENT_OUTPUT_KINDS } from "./payment-kinds.ts";
import { SANDBOX_OUTPUT_KINDS } from "./sandbox-kinds.ts";

export const OUTPUT_KINDS = {
  ...PAYMENT_OUTPUT_KINDS,
  ...SANDBOX_OUTPUT_KINDS,
  error: {
    about: "the error of any command, on stderr; stdout is empty",
    commands: [],
    jq: ".error.code",
    shape: z.object({
      ok: z.literal(false),
      error: z.object({ code: text, message: text }),
      next: text,
      exitCode: z.int(),
      differences: z.optional(z.array(z.object({ field: text, expected: text, live: text }))),
      candidates: z.optional(z.array(z.object({ id: text, about: text }))),
    }),
  },
} as const satisfies Readonly<Record<string, OutputKind>>;

export type OutputKindName = keyof typeof OUTPUT_KINDS;

export const COMMANDS_WITHOUT_RESULT = ["exec", "mcp"] as const;
