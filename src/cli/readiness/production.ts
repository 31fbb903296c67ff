import type { Command } from "commander";
import { encodeAnswer } from "../../core/control/operations.ts";
import { register, valueOption, type Context, type Registry } from "../command.ts";
import { parseNote } from "./note.ts";
import type { Ending } from "../problem.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type RequestOptions = CommonOptions & { readonly note?: string };

/** `checkout production request`. */
export function registerProduction(parent: Command, registry: Registry): void {
  register<RequestOptions>(parent, registry, {
    name: "request",
    summary: "request production, as the merchant; this alone opens nothing",
    examples: [
      "checkout production request",
      'checkout production request --note "launch planned for 1 December"',
    ],
    options: [valueOption("--note <text>", "note for the administrator", parseNote)],
    run: runRequest,
  });
}

async function runRequest(context: Context, options: RequestOptions): Promise<Ending> {
  const { note } = options;
  const requested = await callSandbox(context, {
    name: "requestProduction",
    body: note === undefined ? {} : { note },
    nextAfter: { state_conflict: "checkout checklist shows the status" },
  });
  if (!requested.ok) return requested;
  const { printer } = context;
  return printer.result(encodeAnswer("requestProduction", requested.value), () =>
    [
      `${printer.style.green("✓")} production is requested; the administrator decides`,
      "  checkout checklist shows what is missing",
    ].join("\n"),
  );
}
