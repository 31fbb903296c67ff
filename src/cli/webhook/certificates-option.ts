import { areCertificates, parseCertificates } from "../../core/webhook/certificates.ts";
import type { World } from "../../world.ts";
import { readInput, STDIN } from "../input.ts";
import { refuseUsage } from "../problem.ts";

const HINT = "name a file with -----BEGIN CERTIFICATE-----";

/** The CA certificates of the file of `--ca`. Refuses standard input, and a file without certificates. */
export async function readCertificates(world: World, file: string): Promise<string> {
  if (file === STDIN) throw refuseUsage("--ca cannot be standard input", HINT);
  const text = Buffer.from(await readInput(world, file, "--ca")).toString("utf8");
  if (areCertificates(text)) return text;
  throw refuseUsage(`--ca: ${file} contains no PEM certificates`, HINT);
}

/** The CA certificates of a file for an endpoint, which keeps them. Refuses a private key also. */
export async function readKeptCertificates(world: World, file: string): Promise<string> {
  const parsed = parseCertificates(await readCertificates(world, file));
  if (parsed.ok) return parsed.value;
  throw refuseUsage(`--ca: ${file} ${parsed.refusal.message}`, HINT);
}
