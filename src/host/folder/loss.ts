import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { HostFailure } from "../failure.ts";

/** `failure` resolves within seconds after one of the files is lost (decision 63). */
export function watchForLostFiles(
  world: Pick<World, "onFileLost">,
  paths: readonly string[],
  startCommand: string,
): { readonly failure: Promise<HostFailure>; readonly stop: () => void } {
  const loss = Promise.withResolvers<HostFailure>();
  const stopFunctions = paths.map((path) =>
    world.onFileLost?.(path, () => {
      const message = `${printable(path)} was deleted or replaced while the sandbox was running, so the sandbox has ended`;
      loss.resolve({ kind: "failed", code: "state_lost", message, next: startCommand });
    }),
  );
  return { failure: loss.promise, stop: () => stopFunctions.forEach((stop) => stop?.()) };
}
