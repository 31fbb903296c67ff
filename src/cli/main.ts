import { Command, CommanderError } from "commander";
import { VERSION } from "../version.ts";
import type { World } from "../world.ts";
import type { Registry } from "./command.ts";
import { registerCreate } from "./commands/create.ts";
import { registerIdempotency } from "./commands/idempotency.ts";
import { registerSandboxStart } from "./commands/sandbox-start.ts";
import { registerSessionsGet } from "./commands/sessions-get.ts";
import { registerWhoami } from "./commands/whoami.ts";
import { ORDER, SESSION } from "./create-report.ts";
import { EXIT, type ExitCode } from "./problem.ts";

const GUIDE = `
Examples:
  $ checkout sandbox start
  $ checkout orders create --order-id order-1001 --amount-minor 1999 --currency EUR --payment-method alipay_plus
  $ checkout sessions get <id>

Exit codes: 0 done, 1 failed, 2 usage, 3 not ready, 4 credential or permission, 5 conflict, 6 rate limited,
7 unreachable, timeout or 5xx, 130 interrupted. Every option can come from the environment: --base-url is
CHECKOUT_BASE_URL. The API key comes from CHECKOUT_API_KEY or .checkout/credentials.json, never from an option.`;

/** Runs one command line and returns its exit code. The one catch of the command line is here. */
export async function main(world: World): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = createProgram({ world, exit: (code) => (exitCode = code) });
  try {
    await program.parseAsync(world.argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    world.stderr.write(`checkout failed, and this is a defect of checkout: ${text}\n`);
    return EXIT.failed;
  }
}

function createProgram(registry: Registry): Command {
  const { stdout, stderr } = registry.world;
  const program = new Command("checkout")
    .description("The Hosted Checkout and Orders Service v1 on your own machine.")
    .version(VERSION, "-V, --version", "print the version")
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError("(add --help for the options)")
    .addHelpText("after", GUIDE);
  const sandbox = program.command("sandbox").description("the service on this machine");
  registerSandboxStart(sandbox, registry);
  const orders = program.command("orders").description("one-time orders");
  registerCreate(orders, registry, ORDER);
  const sessions = program.command("sessions").description("hosted checkout sessions");
  registerCreate(sessions, registry, SESSION);
  registerSessionsGet(sessions, registry);
  const idempotency = program.command("idempotency").description("the journal of idempotency keys (not of API keys)");
  registerIdempotency(idempotency, registry);
  registerWhoami(program, registry);
  return program;
}
