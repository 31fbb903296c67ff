import { parseJson } from "../../core/json.ts";
import { redactSecrets } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { CheckSubjects } from "./check-subjects.ts";

/** Minimum length of a secret: shorter values are not redacted, because they occur in every text. */
const MIN_SECRET_LENGTH = 8;
const SECRET_WORD = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD)(S)?(_|$)/i;

/** Whether a variable or field has the name of a secret. The path of a secret is not a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_WORD.test(name) && !/_FILE$/i.test(name);
}

/**
 * Returns a function that removes secrets from a text: secret values in the environment and the state folder, texts in
 * the form of our secrets, and users and passwords in addresses. The home folder, whose path names a person, becomes
 * `~`.
 */
export function createRedactor(subjects: CheckSubjects): (text: string) => string {
  const { env } = subjects.context.world;
  const secrets = [...secretsOfEnvironment(env), ...secretsOfFolder(subjects)]
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .toSorted((one, other) => other.length - one.length);
  const home = env["HOME"] ?? "";
  return (text) => {
    const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
    const safe = redactSecrets(hidden);
    return home.length > 1 ? safe.replaceAll(`${home}/`, "~/") : safe;
  };
}

function secretsOfEnvironment(env: World["env"]): string[] {
  return Object.entries(env).flatMap(([name, value = ""]) => {
    if (isSecretName(name)) return [value];
    return URL.canParse(value) ? [decodeText(new URL(value).password), new URL(value).password] : [];
  });
}

function decodeText(text: string): string {
  return attempt(() => decodeURIComponent(text)) ?? text;
}

/** The secrets in the folder's JSON files: every text in a field with a secret's name, at any depth. */
function secretsOfFolder({ context: { world }, folder, trusted }: CheckSubjects): string[] {
  if (attempt(() => trusted().ok) !== true) return [];
  const texts = (["credentials", "admin", "run"] as const).flatMap((file) => {
    const text = attempt(() => world.files.read(stateFile(folder, file)));
    return text === undefined ? [] : secretsIn(parseJson(text));
  });
  const key = attempt(() => world.files.read(stateFile(folder, "masterKey")))?.trim();
  return key === undefined ? texts : [...texts, key];
}

function secretsIn(value: unknown, name = ""): string[] {
  if (typeof value === "string") return isSecretName(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => secretsIn(child, key));
}

/** The result of `work`, or undefined if it throws: the state may be damaged. */
function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    // Another check reports the reason.
    return undefined;
  }
}
