import type { OutboundRequest } from "../../src/world.ts";

/** The connections over which the requests of a drill come, as Node's agent makes them for one request at a time. */
export function createWire() {
  let [current, kept, last] = [0, 0, 0];
  return {
    /** The connection of the current request. */
    connection: () => current,
    /** Begins a request; returns the value of its header Connection. */
    take: (connection: OutboundRequest["connection"]): "close" | "keep-alive" => {
      current = connection === "kept" ? kept : (last += 1);
      if (connection === "fresh") kept = current;
      return connection === undefined ? "close" : "keep-alive";
    },
  };
}
