import { parseTargetHost } from "../../core/webhook/target.ts";
import { serveHosted, type HostedOptions } from "../../hosted/dev/serve.ts";
import { DEFAULT_PORT } from "../../core/config/settings.ts";
import { listOption, toOptionParser, register, valueOption, type Context, type Group } from "../command.ts";
import { wholeNumberParser } from "../parsers.ts";
import { EXIT, problemOf, Refused, unwrap } from "../problem.ts";
import { readyBanner, refuseLostReadyLine, warnAboutHold } from "../sandbox/ready.ts";
import { adoptOption } from "../sandbox/serving-options.ts";
import { abortOnStop, awaitAbort } from "../stopping.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

export function registerHostedDev(group: Group): void {
  register<CommonOptions & HostedOptions>(group, {
    name: "dev",
    usesStore: false,
    summary: "run the hosted service in workerd on this machine until Ctrl-C",
    examples: [
      "checkout hosted dev",
      "checkout hosted dev --dir hosted-state --port 8787 --json",
      "checkout hosted dev --allow-target 192.168.1.20",
      "checkout hosted dev --adopt",
    ],
    options: [
      valueOption(
        "--port <port>",
        { text: "port to listen on, or 0 for any free port", default: `${DEFAULT_PORT}, or any free port` },
        wholeNumberParser(0, 65_535),
      ),
      listOption(
        "--allow-target <host>",
        {
          text: "additional host that events may be sent to",
          default: "public addresses and this machine",
          note: "repeatable",
        },
        toOptionParser(parseTargetHost),
      ),
      adoptOption(),
    ],
    run: runHostedDev,
  });
}

async function runHostedDev(context: Context, options: HostedOptions): Promise<number> {
  const { world, printer } = context;
  // Registered first, so that a signal during the start is not lost.
  using stop = abortOnStop(world);
  const { signal: stopSignal } = stop;
  const stopEvent = awaitAbort(stopSignal);
  const outcome = await serveHosted(context, options, {
    folder: context.around.folder(),
    stopSignal,
    announce: async (readyFields) => {
      await printer.result(output("ready", readyFields), () => readyBanner(context, readyFields));
      if (world.isResultLost()) throw refuseLostReadyLine();
    },
    use: (service) => {
      warnAboutHold(context, service);
      return Promise.race([stopEvent, service.end, service.stateLoss]);
    },
  });
  const end = unwrap(outcome);
  if (end === "stopped") {
    printer.info("checkout hosted stopped.");
    return EXIT.done;
  }
  if (end !== undefined) throw new Refused(problemOf(end));
  throw new Refused({
    code: "workerd_ended",
    message: "workerd ended unexpectedly",
    next: "read sandbox.log in the state folder, and start it again; every answered write is kept",
  });
}
