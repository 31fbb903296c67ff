import { accept, type Outcome } from "../core/outcome.ts";
import { printable } from "../core/text.ts";
import { areCertificates } from "../core/webhook/certificates.ts";
import type { TlsTrust, World } from "../world.ts";
import { usageFailure, type HostFailure } from "./failure.ts";
import { readNamedText } from "./named-file.ts";

/** The certificates of a PEM file, for endpoints with https; undefined without a file: the system's. */
export function readTrustedCertificates(
  world: Pick<World, "cwd" | "files">,
  file: string | undefined,
): Outcome<TlsTrust | undefined, HostFailure> {
  if (file === undefined) return accept(undefined);
  const refuse = (why: string): Outcome<never, HostFailure> =>
    usageFailure(
      `the setting ca names ${printable(file)}, which ${why}`,
      "name a file with -----BEGIN CERTIFICATE-----, or remove the setting: --ca, CHECKOUT_SANDBOX_CA, or sandbox.ca of the configuration file",
    );
  const text = readNamedText(world, file);
  if (!text.ok) return refuse(text.refusal.why);
  return areCertificates(text.value) ? accept({ ca: text.value }) : refuse("contains no PEM certificates");
}
