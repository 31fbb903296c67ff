import type { Command } from "commander";
import { register, type Context, type Registry } from "../command.ts";
import type { Ending } from "../problem.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** `checkout portal sign-out`. */
export function registerPortalSignOut(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "sign-out",
    ofStore: false,
    summary: "sign every browser out of the portal, and take back the links that nobody used",
    examples: ["checkout portal sign-out"],
    options: [],
    run: runSignOut,
  });
}

async function runSignOut(context: Context): Promise<Ending> {
  const done = await callSandbox(context, { name: "endPortalSessions", body: undefined });
  if (!done.ok) return done;
  const { ended } = done.value;
  return context.printer.result(
    { ended },
    () => `${ended === 1 ? "1 browser was" : `${ended} browsers were`} signed out`,
  );
}
