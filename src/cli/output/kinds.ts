import * as z from "zod/mini";
import { text, type Kind } from "./kind.ts";
import { PAYMENT_KINDS } from "./payment-kinds.ts";
import { SANDBOX_KINDS } from "./sandbox-kinds.ts";

export const KINDS = {
  ...PAYMENT_KINDS,
  ...SANDBOX_KINDS,
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
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof KINDS;

export const COMMANDS_WITHOUT_RESULT = ["exec", "mcp"] as const;
