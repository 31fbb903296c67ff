import { isTestKey } from "../credential.ts";
import { accept, type Outcome } from "../outcome.ts";
import { isSigningSecret } from "../sealed-secret.ts";
import type { FieldFault, FieldPath } from "./field.ts";
import type { ConfigFile, WantedStore } from "./schema.ts";

type Variables = Readonly<Record<string, string | undefined>>;
type StoreInFile = NonNullable<ConfigFile["stores"]>[number];

/** The stores of the file with their secrets, which variables hold. Refuses with each that is missing or is none. */
export function resolveStores(
  { stores = [] }: ConfigFile,
  env: Variables,
): Outcome<readonly WantedStore[], readonly FieldFault[]> {
  const faults = stores.flatMap((store, at) => faultsOf(store, ["stores", at], env));
  if (faults.length > 0) return { ok: false, refusal: faults };
  return accept(
    stores.map(({ apiKeys, signingSecret, ...store }) => ({
      ...store,
      ...(apiKeys === undefined ? {} : { apiKeys: apiKeys.map((key) => env[key.env] ?? "") }),
      ...(signingSecret === undefined ? {} : { signingSecret: env[signingSecret.env] ?? "" }),
    })),
  );
}

/** Why a variable that the file names has no value; undefined if it has one. */
export function missingVariable(name: string, env: Variables): string | undefined {
  return env[name] ? undefined : `the environment variable ${name} is not set`;
}

function faultsOf(
  { apiKeys = [], signingSecret }: StoreInFile,
  path: FieldPath,
  env: Variables,
): FieldFault[] {
  const keys = apiKeys.map((key, at) => ({
    path: [...path, "api_keys", at, "env"],
    fault: keyFault(key.env, env),
  }));
  const secret = {
    path: [...path, "signing_secret", "env"],
    fault: signingSecret === undefined ? undefined : signingFault(signingSecret.env, env),
  };
  return [...keys, secret].flatMap(({ path: at, fault }) =>
    fault === undefined ? [] : [{ path: at, message: fault }],
  );
}

function keyFault(name: string, env: Variables): string | undefined {
  const isKey = isTestKey(env[name] ?? "");
  return (
    missingVariable(name, env) ?? (isKey ? undefined : `the environment variable ${name} holds no test key`)
  );
}

function signingFault(name: string, env: Variables): string | undefined {
  const isSecret = isSigningSecret(env[name] ?? "");
  return (
    missingVariable(name, env) ??
    (isSecret ? undefined : `the environment variable ${name} holds no signing secret (whsec_…)`)
  );
}
