import type { ListenFailure, World } from "../world.ts";
import type { HostFailure } from "./failure.ts";

/** A port that cannot be taken; names who has it, as well as the system lets it be known. */
export function portFailure(
  { portOwner }: Pick<World, "portOwner">,
  port: number,
  { reason, message, address = "" }: ListenFailure,
): HostFailure {
  if (reason === "no_such_address") {
    const next = "name an address of this machine with --listen, or 0.0.0.0 for all of IPv4";
    const what = `${address} is no address of this machine (${message})`;
    return { kind: "failed", code: "address_unavailable", message: what, next };
  }
  const owner = portOwner(port);
  return {
    kind: "failed",
    code: "port_unavailable",
    message:
      owner === undefined ? `port ${port} cannot be used: ${message}` : `port ${port} is used by ${owner}`,
    next: "stop that process, or choose another port with --port (0 takes any free one)",
  };
}
