import { secretFault } from "../../core/webhook/signature.ts";
import { parseHeaderNames } from "../../core/webhook/header-names.ts";
import { orInvalid, valueOption, type Context } from "../command.ts";
import { readInput, STDIN } from "../input.ts";
import { refusedUsage, type Refused } from "../problem.ts";
import type { Option } from "commander";
import type { CommonOptions } from "../target/surroundings.ts";

/** Options of commands that sign or verify. */
export type SecretOptions = CommonOptions & {
  readonly payloadFile?: string;
  readonly secretFile?: string;
};

/** The variable that holds a signing secret: no flag takes one, so that it stands in no process list. */
export const SECRET_VARIABLE = "CHECKOUT_SIGNING_SECRET";

/** `--secret-file`. */
export function secretOption(): Option {
  return valueOption(
    "--secret-file <file>",
    `file with the signing secret, one per line during a rotation; - is standard input (else: ${SECRET_VARIABLE})`,
  );
}

/** `--header-names`. */
export function headerNamesOption(): Option {
  return valueOption(
    "--header-names <names>",
    "names of the headers, for a service with its own: event-id=X-Id,timestamp=X-Time,signature=X-Sign (default: Checkout-…)",
    orInvalid(parseHeaderNames),
  );
}

/**
 * The signing secrets that a command works with: the file's, or the variable's. Refuses where there are none, and where
 * payload and secret would both come from standard input. None of them is printed from now on.
 */
export async function findSecrets(context: Context, options: SecretOptions): Promise<readonly string[]> {
  const given = await givenSecrets(context, options);
  if (given === undefined) throw noSecret(options.secretFile);
  return given;
}

/** The same; undefined where neither is given. */
export async function givenSecrets(
  { world, printer }: Context,
  options: SecretOptions,
): Promise<readonly string[] | undefined> {
  const { secretFile, payloadFile } = options;
  if (secretFile === STDIN && payloadFile === STDIN) throw refusedUsage(ONE_STDIN, NOT_BOTH);
  const read = secretFile === undefined ? undefined : await readInput(world, secretFile, "--secret-file");
  const text = read === undefined ? undefined : Buffer.from(read).toString("utf8");
  const secrets = text?.split(/\r?\n/).filter((line) => line !== "") ?? [world.env[SECRET_VARIABLE] ?? ""];
  for (const secret of secrets) printer.hide(secret);
  if (secrets.some((secret) => secret !== "")) return secrets;
  if (secretFile !== undefined) throw noSecret(secretFile);
  return undefined;
}

/** Refuses secrets that nothing should be signed with; verifying says what is wrong with them by itself. */
export function checkSecrets(secrets: readonly string[]): void {
  const fault = secrets.map(secretFault).find(Boolean);
  if (fault !== undefined) throw refusedUsage(fault.message, SOURCES);
}

const SOURCES = `set ${SECRET_VARIABLE}, or name a file: --secret-file FILE (- is standard input)`;

const ONE_STDIN = "--payload-file and --secret-file cannot both be standard input";
const NOT_BOTH = `take one of them from a file, or the secret from ${SECRET_VARIABLE}`;

/** Why there is none to work with. */
export function noSecret(secretFile: string | undefined): Refused {
  const message =
    secretFile === undefined ? "there is no signing secret" : "--secret-file holds no signing secret";
  return refusedUsage(message, `${SOURCES}; checkout endpoints secret prints that of an endpoint`);
}
