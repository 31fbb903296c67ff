import { accept, type Outcome } from "../core/outcome.ts";
import { printable } from "../core/text.ts";
import { areCertificates, parseCertificates } from "../core/webhook/certificates.ts";
import type { TlsTrust, World } from "../world.ts";
import { usageFailure, type HostFailure } from "./failure.ts";
import { readNamedText } from "./named-file.ts";

/**
 * A refusal is the rest of a sentence that begins with the path. `isKept`: the text is stored, so private keys and long
 * texts are refused.
 */
export function readCertificates(
  world: Pick<World, "cwd" | "files">,
  file: string,
  { isKept = false }: { readonly isKept?: boolean } = {},
): Outcome<string, string> {
  const text = readNamedText(world, file);
  if (!text.ok) return { ok: false, refusal: text.refusal.reason };
  if (!areCertificates(text.value)) return { ok: false, refusal: "contains no PEM certificates" };
  const keptCertificates = isKept ? parseCertificates(text.value) : accept(text.value);
  return keptCertificates.ok ? keptCertificates : { ok: false, refusal: keptCertificates.refusal.message };
}

export function readTrustedCertificates(
  world: Pick<World, "cwd" | "files">,
  file: string,
): Outcome<TlsTrust, HostFailure> {
  const certificates = readCertificates(world, file);
  if (certificates.ok) return accept({ ca: certificates.value });
  return usageFailure(
    `the setting ca names ${printable(file)}, which ${certificates.refusal}`,
    "name a file with -----BEGIN CERTIFICATE-----, or remove the setting: --ca, CHECKOUT_SANDBOX_CA, or sandbox.ca of the configuration file",
  );
}
