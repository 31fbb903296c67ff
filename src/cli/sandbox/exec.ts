import type { ProgramResult, StopSignal, World } from "../../world.ts";
import { register, repeatedOption, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { settingsWithConfig } from "../../host/config/start-settings.ts";
import { createKeptLog, watchRequests, printLogEnd, NO_REQUEST_NOTE } from "./exec-log.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { isOptionTyped, bindToVariable } from "../option-rules.ts";
import { createScopedFaults } from "../fault/scoped-faults.ts";
import type { RequestedFaults } from "../fault/requested-faults.ts";
import { readStoreAccess, refuseWithoutKey } from "../store/access.ts";
import { reserveJournalFolder, programVariables } from "../store/program-variables.ts";
import { storeAccessOf, noteOwnSecrets, accessVariables, type StoreAccess } from "../store/variables.ts";
import { wholeNumberParser } from "../parsers.ts";
import { accept } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { catchRefusal, EXIT, unwrap, Refused, refuseUsage } from "../problem.ts";
import { serveSandbox } from "../../host/serve.ts";
import { configOption, servingOptions } from "./serving-options.ts";
import { callAt } from "../target/call.ts";
import { requireSandboxTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { ServeOptions } from "../../host/options.ts";

type ExecOptions = CommonOptions &
  Omit<ServeOptions, "adopt"> & {
    readonly config?: string;
    readonly fault?: readonly string[];
    readonly seed?: string;
    readonly admin?: boolean;
    readonly keep?: boolean;
  };

const NEW_STORE = "new";

export function registerExec(group: Group): void {
  register<ExecOptions>(group, {
    name: "exec <command> [arguments...]",
    usesStore: false,
    summary: "run a command with its own fresh sandbox, and exit with the command's exit code",
    exitCodes: {
      other: "the exit code of the command",
      126: "the command cannot be run",
      127: "there is no such command",
    },
    examples: [
      "checkout exec -- npm test",
      "checkout exec --rate-limit 5/s -- node --test",
      "checkout exec --store new -- npm test",
      "checkout exec --fault flaky-network -- npm test",
      "checkout exec --admin -- sh -e launch.sh",
    ],
    options: [
      valueOption("--store <new|id|name>", {
        text: "use the running sandbox, with a new store or an existing one",
        default: "a fresh sandbox",
      }),
      // No variable sets this port, so that this sandbox does not take the port of the folder's sandbox.
      valueOption(
        "--port <port>",
        { text: "port to listen on, or 0 for any free port", default: "0" },
        wholeNumberParser(0, 65_535),
      ),
      repeatedOption(
        "--fault <profile|file>",
        "faults to inject into the store that the command uses: a profile (see checkout faults add --help) or a JSON file (repeatable)",
        accept<string>,
      ),
      valueOption("--seed <text>", {
        text: "random seed for the faults of --fault",
        default: "random",
        note: "printed if the command fails",
      }),
      switchOption("--admin", {
        text: "also pass CHECKOUT_ADMIN_TOKEN to the command, for checkout admin",
        default: "withheld",
      }),
      switchOption(
        "--keep",
        "keep the store of --store new after the command; without --store, keep the sandbox running until Ctrl-C",
      ),
      ...[configOption(), ...servingOptions()].map((option) => bindToVariable("CHECKOUT_SANDBOX", option)),
    ],
    requires: [["seed", "fault"]],
    passesThrough: true,
    run: (context, options, program = "", ...args) =>
      options.store === undefined
        ? runExec(context, options, { program, args })
        : runInStore(context, { ...options, store: options.store }, { program, args }),
  });
}

type Program = { readonly program: string; readonly args: readonly string[] };

const SIGNAL_EXIT_BASE = 128;
const SIGNAL_NUMBERS: Readonly<Record<StopSignal, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

async function runExec(context: Context, options: ExecOptions, { program, args }: Program): Promise<number> {
  const { world, printer } = context;
  // Registered first and kept until the end, so that a signal does not end the sandbox before the program.
  const stop = recordStopSignal(world);
  const requestedFaults = await readExecFaults(context, options);
  const log = createKeptLog();
  let isReady = false;
  const settings = unwrap(await settingsWithConfig(context, { ...options, port: options.port ?? 0 }));
  const requestWatch = watchRequests(world);
  const service = serveSandbox({ ...context, world: requestWatch.world }, settings, {
    location: { folder: undefined, log },
    use: async (sandbox) => {
      const { base_url: baseUrl, control_token: token } = sandbox.ready;
      const target = { origin: new URL(baseUrl).origin, token, version: context.version };
      await createScopedFaults(context, target).add(requestedFaults.faults);
      requestWatch.forget();
      isReady = true;
      const stopSignal = stop.readSignal();
      if (stopSignal !== undefined) return SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[stopSignal];
      using journal = reserveJournalFolder(world, baseUrl);
      const { ready, adminToken } = sandbox;
      const tokens = { controlToken: token, adminToken: options.admin === true ? adminToken : undefined };
      const env = { ...childEnvironment(world, storeAccessOf(ready), tokens), ...journal.variables };
      const end = await world.runProgram({ program, args, env });
      if (options.keep === true && stop.readSignal() === undefined) {
        const address = sandbox.ready.portal_url ?? baseUrl;
        printer.info(`checkout exec: the command has ended; its sandbox runs until Ctrl-C: ${address}`);
        await stop.firstSignal;
      }
      return exitCodeOf(program, end);
    },
  });
  const result = await catchRefusal(service.then((outcome) => unwrap(outcome)));
  const exitCode = unwrap(result, (problem) =>
    isReady || problem.exitCode === EXIT.usage ? problem : { ...problem, exitCode: EXIT.unreachable },
  );
  if (options.quiet !== true) {
    if (exitCode !== EXIT.done) printLogEnd(context, log);
    else if (!requestWatch.wasReached()) printer.trace(NO_REQUEST_NOTE);
  }
  noteSeed(context, exitCode, requestedFaults);
  return exitCode;
}

async function runInStore(
  context: Context,
  options: ExecOptions & { readonly store: string },
  { program, args }: Program,
): Promise<number> {
  const { world } = context;
  const settingNames = ["port", configOption().name(), ...servingOptions().map((option) => option.name())];
  const givenSetting = settingNames.find((name) => isOptionTyped(world, name));
  if (givenSetting !== undefined) {
    const message = `--store uses the running sandbox, which --${givenSetting} cannot change`;
    throw refuseUsage(message, "leave one of them out");
  }
  const isFresh = options.store === NEW_STORE;
  if (options.keep === true && !isFresh)
    throw refuseUsage(
      `the store ${printable(options.store)} exists already, and is never deleted`,
      "leave --keep out",
    );
  const stop = recordStopSignal(world);
  const requestedFaults = await readExecFaults(context, options);
  const target = await requireSandboxTarget(context);
  const adminTarget =
    options.admin === true ? await requireSandboxTarget(context, "administrator") : undefined;
  await using store = isFresh ? await createFreshStore(context, target, options.keep === true) : undefined;
  const access = store ?? (await readStoreAccess(context, target));
  if (access.apiKey === null)
    throw refuseWithoutKey(access, "run it in a new store: checkout exec --store new");
  await using faults = createScopedFaults(context, { ...target, storeId: access.storeId });
  await faults.add(requestedFaults.faults);
  const stopSignal = stop.readSignal();
  if (stopSignal !== undefined) return SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[stopSignal];
  noteOwnSecrets(context, access);
  const env = childEnvironment(world, access, { controlToken: target.token, adminToken: adminTarget?.token });
  const exitCode = exitCodeOf(program, await world.runProgram({ program, args, env }));
  faults.keep();
  noteSeed(context, exitCode, requestedFaults);
  return exitCode;
}

async function removeFreshStore(
  context: Context,
  target: ControlTarget & { readonly storeId: string },
  isKept: boolean,
): Promise<void> {
  const { storeId } = target;
  const hint = `checkout stores delete ${storeId} --yes`;
  if (isKept) return context.printer.info(`checkout exec: the store ${storeId} stays; to delete it: ${hint}`);
  const outcome = await catchRefusal(callAt(context, target, { name: "deleteStore", body: {} }));
  if (!outcome.ok)
    context.printer.trace(
      `warning: the store was not deleted (${outcome.refusal.message}); to delete it: ${hint}`,
    );
}

function recordStopSignal({ onStop }: World) {
  let signal: StopSignal | undefined;
  const firstSignal = new Promise<void>((resolve) => {
    onStop((receivedSignal) => {
      signal ??= receivedSignal;
      resolve();
    });
  });
  return { readSignal: (): StopSignal | undefined => signal, firstSignal };
}

type ExecFaults = RequestedFaults & { readonly seed: string };

const SEED_BYTES = 4;

async function readExecFaults(
  context: Context,
  { fault: names, seed: givenSeed }: ExecOptions,
): Promise<ExecFaults> {
  if (names === undefined) return { faults: [], isRandom: false, seed: "" };
  const seed = givenSeed ?? Buffer.from(context.world.randomBytes(SEED_BYTES)).toString("hex");
  const { readFaults } = await import("../fault/requested-faults.ts");
  return { ...readFaults(context, names, seed), seed };
}

function noteSeed({ printer }: Context, exitCode: number, { isRandom, seed }: ExecFaults): void {
  if (exitCode !== EXIT.done && isRandom)
    printer.trace(`checkout exec: to repeat the same faults: --seed ${printable(seed)}`);
}

/** Disposing the result deletes the store, unless `isKept`. */
async function createFreshStore(
  context: Context,
  target: ControlTarget,
  isKept: boolean,
): Promise<StoreAccess & AsyncDisposable> {
  const createdStore = await callAt(context, target, { name: "createStore", body: { name: STORE_NAME } });
  const removeStore = () => removeFreshStore(context, { ...target, storeId: createdStore.storeId }, isKept);
  return { ...createdStore, baseUrl: `${target.origin}/v1`, [Symbol.asyncDispose]: removeStore };
}

const STORE_NAME = "checkout exec";

function exitCodeOf(program: string, end: ProgramResult): number {
  switch (end.ending) {
    case "exited":
      return end.exitCode;
    case "killed":
      return SIGNAL_EXIT_BASE + end.signalNumber;
    case "not_found":
      throw new Refused({
        exitCode: EXIT.notFound,
        code: "command_not_found",
        message: `there is no command ${JSON.stringify(program)} (${end.message})`,
        next: 'check its name and PATH; a command line for the shell is: checkout exec -- sh -c "…"',
      });
    case "not_executable":
      throw new Refused({
        exitCode: EXIT.notExecutable,
        code: "command_not_executable",
        message: `${JSON.stringify(program)} cannot be run (${end.message})`,
        next: "check that it is a program and that you may execute it",
      });
  }
}

/** Removes the variables of other sandboxes. The program gets the admin token only with `--admin` (decision 122). */
function childEnvironment(
  world: World,
  access: StoreAccess,
  { controlToken, adminToken }: { readonly controlToken: string; readonly adminToken: string | undefined },
): Record<string, string | undefined> {
  const tokens = { CHECKOUT_CONTROL_TOKEN: controlToken, CHECKOUT_ADMIN_TOKEN: adminToken };
  return { ...programVariables(world), ...accessVariables(access), ...tokens };
}
