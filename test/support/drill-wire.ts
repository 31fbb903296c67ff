import type { OutboundRequest } from "../../src/world.ts";

/** The connections on which the requests of a drill arrive, as Node's agent opens them for one request at a time. */
export function createWire() {
  let [current, kept, last] = [0, 0, 0];
  return {
    /** The connection of the current request. */
    connection: () => current,
    /** Begins a request; returns the value of its Connection header. */
    take: (connection: OutboundRequest["connection"]): "close" | "keep-alive" => {
      current = connection === "kept" ? kept : (last += 1);
      if (connection === "fresh") kept = current;
      return connection === undefined ? "close" : "keep-alive";
    },
  };
}
