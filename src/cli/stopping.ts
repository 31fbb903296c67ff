import type { World } from "../world.ts";

/** Aborts when the command is stopped, until the end of the enclosing block: `using stop = abortOnStop(world)`. */
export function abortOnStop({ onStop }: Pick<World, "onStop">): AbortController & Disposable {
  const stopping = new AbortController();
  const unsubscribe = onStop(() => stopping.abort());
  return Object.assign(stopping, { [Symbol.dispose]: unsubscribe });
}
