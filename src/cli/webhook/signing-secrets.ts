import { checkSecret } from "../../core/webhook/signature.ts";
import { parseHeaderNames } from "../../core/webhook/header-names.ts";
import { toOptionParser, valueOption, type Context } from "../command.ts";
import { readInput, STDIN } from "../input.ts";
import { refuseUsage, type Refused } from "../problem.ts";
import type { Option } from "commander";
import type { CommonOptions } from "../target/surroundings.ts";

export type SecretOptions = CommonOptions & { readonly payloadFile?: string; readonly secretFile?: string };

/** No option takes a secret, because process lists would show it. */
export const SIGNING_SECRET_VARIABLE = "CHECKOUT_SIGNING_SECRET";

export function secretOption(): Option {
  return valueOption("--secret-file <file>", {
    text: "file with the signing secret, one per line during a rotation, or - for standard input",
    default: SIGNING_SECRET_VARIABLE,
  });
}

export function headerNamesOption(): Option {
  return valueOption(
    "--header-names <names>",
    {
      text: "header names of a service that uses other names, such as event-id=X-Id,timestamp=X-Time,signature=X-Sign",
      default: "Checkout-…",
    },
    toOptionParser(parseHeaderNames),
  );
}

export function dialectOption(): Option {
  return valueOption("--dialect <file>", {
    text: "file with the names and form of the headers, written by calibrate --write-dialect",
    default: "the dialect of the store whose secret is tried",
  });
}

export async function requireSigningSecrets(
  context: Context,
  options: SecretOptions,
): Promise<readonly string[]> {
  const secrets = await findSigningSecrets(context, options);
  if (secrets === undefined) throw refuseMissingSecret(options.secretFile);
  refuseInvalidSecrets(secrets);
  return secrets;
}

export function refuseInvalidSecrets(secrets: readonly string[]): void {
  const fault = secrets.map(checkSecret).find(Boolean);
  if (fault !== undefined) throw refuseUsage(fault.message, SECRET_HINT);
}

/** Returns unchecked secrets; undefined if none is set. Refuses a file without a secret. */
export async function findSigningSecrets(
  { world, printer }: Context,
  options: SecretOptions,
): Promise<readonly string[] | undefined> {
  const { secretFile, payloadFile } = options;
  if (secretFile === STDIN && payloadFile === STDIN)
    throw refuseUsage(
      "--payload-file and --secret-file cannot both be standard input",
      `take one of them from a file, or the secret from ${SIGNING_SECRET_VARIABLE}`,
    );
  const bytes = secretFile === undefined ? undefined : await readInput(world, secretFile, "--secret-file");
  const text = bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
  const secrets = text?.split(/\r?\n/).filter((line) => line !== "") ?? [
    world.env[SIGNING_SECRET_VARIABLE] ?? "",
  ];
  for (const secret of secrets) printer.hide(secret);
  if (secrets.some((secret) => secret !== "")) return secrets;
  if (secretFile !== undefined) throw refuseMissingSecret(secretFile);
  return undefined;
}

const SECRET_HINT = `set ${SIGNING_SECRET_VARIABLE}, or name a file: --secret-file FILE (- is standard input)`;

export function refuseMissingSecret(secretFile: string | undefined): Refused {
  const message =
    secretFile === undefined ? "there is no signing secret" : "--secret-file contains no signing secret";
  return refuseUsage(message, `${SECRET_HINT}; checkout endpoints secret prints the secret of an endpoint`);
}
