import { isSecretVariable, secretFieldsIn } from "../../core/request/redaction.ts";
import type { World } from "../../world.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { CheckSubjects } from "./subjects.ts";

/** The secrets in the environment, users' passwords in addresses included, and in the state folder. */
export function knownSecrets(subjects: CheckSubjects): readonly string[] {
  return [...secretsOfEnvironment(subjects.context.world.env), ...secretsOfFolder(subjects)];
}

function secretsOfEnvironment(env: World["env"]): string[] {
  return Object.entries(env).flatMap(([name, value = ""]) => {
    if (isSecretVariable(name)) return [value];
    const password = URL.canParse(value) ? new URL(value).password : "";
    return [password, attempt(() => decodeURIComponent(password)) ?? password];
  });
}

function secretsOfFolder({ context: { world }, folder, trusted }: CheckSubjects): string[] {
  if (attempt(() => trusted().ok) !== true) return [];
  const read = (file: Parameters<typeof stateFile>[1]): string =>
    attempt(() => world.files.read(stateFile(folder, file))) ?? "";
  const texts = (["credentials", "admin", "run"] as const).map(read).join("\n");
  return [...secretFieldsIn(texts), read("masterKey").trim()];
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
