import type { World } from "../../world.ts";
import { EXIT, type Problem } from "../problem.ts";

/** A port that cannot be taken; names who has it, as well as the system lets it be known. */
export function portProblem({ portOwner }: Pick<World, "portOwner">, port: number, message: string): Problem {
  const owner = portOwner(port);
  return {
    exitCode: EXIT.failed,
    code: "port_unavailable",
    message:
      owner === undefined ? `port ${port} cannot be used: ${message}` : `port ${port} is used by ${owner}`,
    next: "stop that process, or choose another port with --port (0 takes any free one)",
  };
}
