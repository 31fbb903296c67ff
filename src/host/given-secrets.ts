import { hasTokenFormat } from "../core/control/protocol.ts";
import { isTestKey } from "../core/credential.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { isSigningSecret } from "../core/webhook/sealed-secret.ts";
import { printable } from "../core/text.ts";
import type { World } from "../world.ts";
import { readNamedText } from "./named-file.ts";
import { usageFailure, type HostFailure } from "./failure.ts";

const TOKEN_FORM = { isValid: hasTokenFormat, form: "16 to 128 letters, digits, - or _" };

const SECRETS = {
  apiKey: {
    variable: "CHECKOUT_SANDBOX_API_KEY",
    meaning: "the API key of the first store of a new sandbox",
    isValid: isTestKey,
    form: "a test key: svc_test_ and 33 letters and digits, of which the last 6 are a checksum",
  },
  signingSecret: {
    variable: "CHECKOUT_SANDBOX_SIGNING_SECRET",
    meaning: "the signing secret of the first store of a new sandbox",
    isValid: isSigningSecret,
    form: "whsec_ and 32 to 128 letters, digits, - or _",
  },
  controlToken: {
    variable: "CHECKOUT_SANDBOX_CONTROL_TOKEN",
    meaning: "the control token that the sandbox accepts",
    ...TOKEN_FORM,
  },
  adminToken: {
    variable: "CHECKOUT_SANDBOX_ADMIN_TOKEN",
    meaning: "the admin token that the sandbox accepts",
    ...TOKEN_FORM,
  },
} as const;

export type SecretName = keyof typeof SECRETS;

export type GivenSecret = { readonly value: string; readonly source: string };

export type GivenSecrets = Readonly<Partial<Record<SecretName, GivenSecret>>>;

export const SECRET_VARIABLES = Object.entries(SECRETS).map(
  ([name, { variable, meaning }]) => [name as SecretName, variable, meaning] as const,
);

type SecretsWorld = Pick<World, "env" | "cwd" | "files">;

export function readGivenSecrets(world: SecretsWorld): Outcome<GivenSecrets, HostFailure> {
  const givenSecrets: Partial<Record<SecretName, GivenSecret>> = {};
  for (const [name] of SECRET_VARIABLES) {
    const secret = readGivenSecret(world, name);
    if (!secret.ok) return secret;
    if (secret.value !== undefined) givenSecrets[name] = secret.value;
  }
  const { controlToken, adminToken } = givenSecrets;
  if (controlToken === undefined || controlToken.value !== adminToken?.value) return accept(givenSecrets);
  const message = `${controlToken.source} and ${adminToken.source} must differ, because they belong to different roles`;
  return usageFailure(message, `change or unset one of them; ${NEW_HINT}`);
}

export function refuseOtherSecret({ source }: GivenSecret, name: string): ReturnType<typeof usageFailure> {
  return usageFailure(
    `${source} differs from the ${name} of the existing store`,
    `unset ${source} to keep that store, or create a new one: start with another --dir, or with --ephemeral`,
  );
}

const NEW_HINT = "checkout keys generate creates valid secrets";

function readGivenSecret(
  world: SecretsWorld,
  name: SecretName,
): Outcome<GivenSecret | undefined, HostFailure> {
  const { variable, isValid, form } = SECRETS[name];
  const fileVariable = `${variable}_FILE`;
  const [value = "", file = ""] = [world.env[variable], world.env[fileVariable]];
  if (value !== "" && file !== "")
    return usageFailure(`${variable} and ${fileVariable} exclude each other`, "unset one of them");
  if (value === "" && file === "") return accept(undefined);
  const secret = file === "" ? accept(value) : readSecret(world, fileVariable, file);
  if (!secret.ok) return secret;
  const source = file === "" ? variable : fileVariable;
  if (isValid(secret.value)) return accept({ value: secret.value, source });
  return usageFailure(
    `the secret in ${source} must be ${form}`,
    `correct it, or unset it for a random one; ${NEW_HINT}`,
  );
}

const MAX_SECRET_FILE_BYTES = 64 * 1024;

/** Drops a final line break, which editors and `echo` add. */
function readSecret(world: SecretsWorld, variable: string, path: string): Outcome<string, HostFailure> {
  const refuse = (reason: string): Outcome<never, HostFailure> =>
    usageFailure(
      `${variable} names ${printable(path)}, ${reason}`,
      "name a file that contains only the secret, or unset the variable",
    );
  const text = readNamedText(world, path, { maxBytes: MAX_SECRET_FILE_BYTES });
  if (!text.ok) return refuse(`which ${text.refusal.reason}`);
  const secret = text.value.replace(/\r?\n$/, "");
  return secret === "" ? refuse("which is empty") : accept(secret);
}
