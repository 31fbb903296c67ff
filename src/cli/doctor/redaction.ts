import { parseJson } from "../../core/json.ts";
import { redactSecrets } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { Scene } from "./scene.ts";

/** Shorter values are no secrets, and would turn every text into dots. */
const MIN_SECRET_LENGTH = 8;
const SECRET_WORD = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD)(S)?(_|$)/i;

/** Whether a variable or a field of a file is one for a secret, by its name; a path to one is none. */
export function isSecretName(name: string): boolean {
  return SECRET_WORD.test(name) && !/_FILE$/i.test(name);
}

/**
 * What takes every secret out of a text: those that the environment and the state folder hold, by their values; what
 * looks like one of ours; and users and passwords in addresses. The home folder, which names a person, becomes `~`.
 */
export function redactor(scene: Scene): (text: string) => string {
  const { env } = scene.context.world;
  const secrets = [...secretsOfEnvironment(env), ...secretsOfFolder(scene)]
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
    return URL.canParse(value) ? [decoded(new URL(value).password), new URL(value).password] : [];
  });
}

function decoded(text: string): string {
  return attempt(() => decodeURIComponent(text)) ?? text;
}

/** Secrets of our files, whatever shape they have: every text under a name of a secret, at any depth. */
function secretsOfFolder({ context: { world }, folder, trusted }: Scene): string[] {
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

/** The result of what may fail because the world is broken; undefined where it failed, and the reason does not matter. */
function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    // The check of the same thing says why.
    return undefined;
  }
}
