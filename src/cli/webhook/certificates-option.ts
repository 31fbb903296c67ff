import { readCertificates } from "../../host/trusted-certificates.ts";
import type { World } from "../../world.ts";
import { STDIN } from "../input.ts";
import { refuseUsage } from "../problem.ts";

const CA_FILE_HINT = "name a file with -----BEGIN CERTIFICATE-----";

export function certificatesOfOption(
  world: World,
  file: string,
  options?: { readonly isKept?: boolean },
): string {
  if (file === STDIN) throw refuseUsage("--ca cannot be standard input", CA_FILE_HINT);
  const outcome = readCertificates(world, file, options);
  if (outcome.ok) return outcome.value;
  throw refuseUsage(`--ca: ${file} ${outcome.refusal}`, CA_FILE_HINT);
}
