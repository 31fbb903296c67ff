// The kinds of results that `--json` prints: output.schema.json and docs/json.md are made from these tables, and a
// command prints only a value of a kind (cli/output/output.ts). A new command needs its words in a row; a new kind of
// result needs a row, and its shape in cli/output/shapes.ts unless it is an answer of the control API.
import type { Kind } from "./kind.ts";
import { PAYMENT_KINDS } from "./payment-kinds.ts";
import { SANDBOX_KINDS } from "./sandbox-kinds.ts";
import * as shapes from "./shapes.ts";

export const KINDS = {
  ...PAYMENT_KINDS,
  ...SANDBOX_KINDS,
  error: {
    about: "the error of any command, on stderr; stdout is empty",
    commands: [],
    jq: ".error.code",
    shape: shapes.failure,
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof KINDS;

/** Commands whose stdout belongs to another program, or to a protocol, so that they print no JSON result. */
export const COMMANDS_WITHOUT_RESULT = ["exec", "mcp"] as const;
