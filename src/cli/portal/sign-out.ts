import type { Command } from "commander";
import { calling } from "../calling.ts";
import { register, type Registry } from "../command.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** `checkout portal sign-out`. */
export function registerPortalSignOut(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "sign-out",
    ofStore: false,
    summary: "sign every browser out of the portal, and take back the links that nobody used",
    examples: ["checkout portal sign-out"],
    run: calling("endPortalSessions", {
      text: ({ ended }) => `${ended === 1 ? "1 browser was" : `${ended} browsers were`} signed out`,
    }),
  });
}
