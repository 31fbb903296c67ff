import { dirname } from "node:path";
import { printable, shortId } from "../../core/text.ts";
import { folderOptions, type StartOptions } from "./serving-options.ts";
import { isTerminal } from "../printer.ts";
import { register, switchOption, type Context, type Group } from "../command.ts";
import { settingsWithConfig } from "../../host/config/start-settings.ts";
import { bindToVariable } from "../option-rules.ts";
import { noteTarget } from "../target/notes.ts";
import { EXIT, unwrap } from "../problem.ts";
import { readyBanner, refuseLostReadyLine, warnAboutHold } from "./ready.ts";
import { serveSandbox } from "../../host/serve.ts";
import { awaitStop } from "../stopping.ts";
import { output } from "../output/output.ts";

export function registerSandboxStart(group: Group): void {
  register<StartOptions>(group, {
    name: "start",
    usesStore: false,
    summary: "run the sandbox, the whole v1 service, on this machine until Ctrl-C",
    examples: [
      "checkout sandbox start",
      "checkout sandbox start --detach --reuse",
      "checkout sandbox start --ephemeral --port 0 --json",
      "checkout sandbox start --rate-limit 5/s --allow-host checkout.local",
      "checkout sandbox start --delivery-schedule 0s,1s,5s,30s",
      "checkout sandbox start --listen 0.0.0.0 --allow-host sandbox --public-url http://127.0.0.1:8080",
    ],
    options: [
      switchOption("--detach", "run in the background, and return when the sandbox is ready"),
      switchOption("--reuse", "use the sandbox that is already running in this folder, if any"),
      ...folderOptions().map((option) => bindToVariable("CHECKOUT_SANDBOX", option)),
    ],
    run: runSandboxStart,
  });
}

async function runSandboxStart(context: Context, options: StartOptions): Promise<number> {
  const { starter } = context.world;
  if (starter !== undefined) {
    const { serveDetached } = await import("./detach.ts");
    return serveDetached(context, options, starter);
  }
  if (options.ephemeral !== true) noteParentFolder(context);
  if (options.detach !== true && options.reuse !== true) return serveHere(context, options);
  const { startOrReuse } = await import("./detach.ts");
  return startOrReuse(context, options, () => serveHere(context, options));
}

function noteParentFolder({ world, printer, around }: Context): void {
  const folder = around.folder();
  if (around.options.dir !== undefined || dirname(folder) === world.cwd) return;
  printer.info(
    `note: the state folder belongs to a parent folder, ${printable(folder)}; --dir .checkout creates a new one here`,
  );
}

async function serveHere(context: Context, options: StartOptions): Promise<number> {
  const { world, printer } = context;
  // Registered first, so that a signal during start or stop is not lost.
  const stop = new Promise<void>((resolve) => void world.onStop(() => resolve()));
  const folder = options.ephemeral === true ? undefined : context.around.folder();
  const settings = unwrap(await settingsWithConfig(context, options));
  // On a terminal, the log has short ids, which commands also accept.
  const idOptions = isTerminal(world.stderr) ? { formatId: shortId } : {};
  const outcome = await serveSandbox(context, settings, {
    location: { folder, log: world.stderr, ...idOptions },
    announce: async ({ ready, description, secrets }) => {
      await printer.result(output("ready", ready), () =>
        readyBanner(context, ready, { givenSecrets: secrets, description }),
      );
      if (world.isResultLost()) throw refuseLostReadyLine();
    },
    use: async (sandbox) => {
      if (options.ephemeral !== true) noteTarget(context);
      warnAboutHold(context, sandbox.description);
      await awaitStop(sandbox, stop);
    },
  });
  unwrap(outcome);
  printer.info("checkout sandbox stopped.");
  return EXIT.done;
}
