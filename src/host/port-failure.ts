import type { ListenFailure, World } from "../world.ts";
import { EXIT, type Problem } from "../cli/problem.ts";

/** A port that cannot be taken; names who has it, as well as the system lets it be known. */
export function portProblem(
  { portOwner }: Pick<World, "portOwner">,
  port: number,
  { reason, message, address = "" }: ListenFailure,
): Problem {
  if (reason === "no_such_address") {
    const next = "name an address of this machine with --listen, or 0.0.0.0 for all of IPv4";
    const what = `${address} is no address of this machine (${message})`;
    return { exitCode: EXIT.failed, code: "address_unavailable", message: what, next };
  }
  const owner = portOwner(port);
  return {
    exitCode: EXIT.failed,
    code: "port_unavailable",
    message:
      owner === undefined ? `port ${port} cannot be used: ${message}` : `port ${port} is used by ${owner}`,
    next: "stop that process, or choose another port with --port (0 takes any free one)",
  };
}
