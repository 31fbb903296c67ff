import type { World } from "../../world.ts";

/** Wraps a world to limit the number of concurrent requests and commands; the others wait for their turn. */
export function limitConcurrency<Some extends Pick<World, "send" | "run">>(world: Some, count: number): Some {
  const waiting: (() => void)[] = [];
  let busy = 0;
  const inTurn = async <Value>(act: () => Promise<Value>): Promise<Value> => {
    if (busy >= count) await new Promise<void>((resolve) => void waiting.push(resolve));
    else busy += 1;
    try {
      return await act();
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy -= 1;
      else next();
    }
  };
  return {
    ...world,
    send: (request) => inTurn(() => world.send(request)),
    run: (command) => inTurn(() => world.run(command)),
  };
}
