import type { StepValue } from "../core/readiness/drill-shapes.ts";
import { factOf } from "../core/readiness/drills/said.ts";
import { accept, isError, type Outcome } from "../core/outcome.ts";
import { printable, printableLiteral, redactSecrets } from "../core/text.ts";
import type { ShellCommand, ShellResult, World } from "../world.ts";
import { refuseFact } from "../core/refusals.ts";

type MerchantCommand = ShellCommand & {
  readonly subject?: { readonly orderId: string; readonly id?: string };
};

export async function runMerchantCommand(
  { run }: Pick<World, "run">,
  { subject, env, ...command }: MerchantCommand,
): Promise<ShellResult> {
  const ids = subject && { CHECKOUT_ORDER_ID: subject.orderId, CHECKOUT_SESSION_ID: subject.id };
  try {
    return await run({ ...command, env: { ...env, ...ids, ...NO_TOKENS } });
  } catch (error) {
    // Node throws for some commands that it cannot start, for example if the environment has a NUL.
    const stderr = isError(error) ? error.message : String(error);
    return { ending: "not_run", exitCode: null, stdout: "", stderr };
  }
}

const NO_TOKENS = {
  CHECKOUT_CONTROL_TOKEN: undefined,
  CHECKOUT_ADMIN_TOKEN: undefined,
  CHECKOUT_SANDBOX_CONTROL_TOKEN: undefined,
  CHECKOUT_SANDBOX_ADMIN_TOKEN: undefined,
} as const;

const MAX_QUOTE_LENGTH = 200;

export function commandResult({ ending, exitCode, stdout, stderr }: ShellResult): StepValue {
  const output = removeStackFrames(stderr.trim() === "" ? stdout : stderr)
    .trim()
    .replaceAll(/\s+/g, " ");
  // Redacted before it is cut, because a secret that lost its beginning would not be recognised.
  const text = redactSecrets(printable(output));
  // Both ends are kept: npm prints the error first, Python last.
  const half = MAX_QUOTE_LENGTH / 2;
  const quote = text.length <= MAX_QUOTE_LENGTH ? text : `${text.slice(0, half)} … ${text.slice(-half)}`;
  return ending === "aborted" ? factOf("killed", quote) : factOf("exited", `${exitCode ?? "none"}`, quote);
}

/** Node prints stack frames and its version after the error, and would fill the quote with them. */
function removeStackFrames(output: string): string {
  return output
    .split("\n")
    .filter((line) => !/^\s+at |^Node\.js v\d/.test(line))
    .join("\n");
}

/** These placeholders are allowed in addresses, but not in commands. */
const PLACEHOLDER_PATTERN = /\{(order_id|session_id)\}/;

/** Refuses placeholders, because a shell would execute commands within an id. */
export function parseCommandLine(text: string): Outcome<string> {
  const [placeholder, name] = PLACEHOLDER_PATTERN.exec(text) ?? [];
  if (placeholder === undefined) return accept(text);
  const variable = name === "order_id" ? "CHECKOUT_ORDER_ID" : "CHECKOUT_SESSION_ID";
  return refuseFact("command_with_id", { received: printableLiteral(text), variable, placeholder });
}
