import { isTestKey } from "../credential.ts";
import { accept, type Outcome } from "../outcome.ts";
import { isSigningSecret } from "../webhook/sealed-secret.ts";
import { printableLiteral } from "../text.ts";
import { faultOfField, type FieldFault, type FieldPath } from "./field.ts";
import type { RequestedStore } from "./store-fields.ts";
import type { ConfigFile } from "./schema.ts";

type Variables = Readonly<Record<string, string | undefined>>;
type StoreInFile = NonNullable<ConfigFile["stores"]>[number];

type ValueSources = {
  readonly env: Variables;
  readonly readCertificates: (path: string) => Outcome<string, string>;
};

export function resolveStoreSecrets(
  { stores = [] }: ConfigFile,
  { env, readCertificates }: ValueSources,
): Outcome<readonly RequestedStore[], readonly FieldFault[]> {
  const faults: FieldFault[] = [];
  const resolvedStores = stores.map(({ apiKeys, signingSecret, endpoints, ...store }, storeIndex) => {
    const path = ["stores", storeIndex];
    faults.push(...secretFaults({ apiKeys, signingSecret }, path, env));
    const resolvedEndpoints = endpoints?.map((endpoint, index) => {
      const ca = certificatesOf(endpoint.ca, readCertificates);
      if (!ca.ok) faults.push(faultOfField([...path, "endpoints", index, "ca"], ca.refusal));
      return { ...endpoint, ca: ca.ok ? ca.value : undefined };
    });
    return {
      ...store,
      ...(resolvedEndpoints && { endpoints: resolvedEndpoints }),
      ...(apiKeys && { apiKeys: apiKeys.map((key) => valueOfVariable(key.env, env)) }),
      ...(signingSecret && { signingSecret: valueOfVariable(signingSecret.env, env) }),
    };
  });
  return faults.length > 0 ? { ok: false, refusal: faults } : accept(resolvedStores);
}

export function targetVariable(target: string): string {
  return `CHECKOUT_TARGET_${target.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}

export function unreadVariableFaults({ targets = {} }: Pick<ConfigFile, "targets">): FieldFault[] {
  return Object.entries(targets).flatMap(([name, { apiKey }]) => {
    const ownVariable = targetVariable(name);
    if (apiKey === undefined || apiKey.env === ownVariable) return [];
    return [faultOfField(["targets", name, "api_key"], `is no longer read; put the key into ${ownVariable}`)];
  });
}

export function isTargetVariable(name: string): boolean {
  return /^CHECKOUT_TARGET_[A-Z0-9_]+_API_KEY$/.test(name);
}

/** Returns an empty string if the variable is not set. Ignores inherited names such as `constructor`. */
export function valueOfVariable(name: string, env: Variables): string {
  return (Object.hasOwn(env, name) ? env[name] : undefined) ?? "";
}

export function missingVariableReason(name: string, env: Variables): string | undefined {
  return valueOfVariable(name, env) === "" ? `the environment variable ${name} is not set` : undefined;
}

function certificatesOf(
  ca: string | undefined,
  readCertificates: ValueSources["readCertificates"],
): Outcome<string | undefined, string> {
  if (ca === undefined || ca.includes("-----BEGIN")) return accept(ca);
  const result = readCertificates(ca);
  return result.ok ? result : { ok: false, refusal: `${printableLiteral(ca)} ${result.refusal}` };
}

function secretFaults(
  { apiKeys = [], signingSecret }: Pick<StoreInFile, "apiKeys" | "signingSecret">,
  path: FieldPath,
  env: Variables,
): FieldFault[] {
  const checkVariable = (
    isValid: (value: string) => boolean,
    noun: string,
    variable: string,
    ...fieldPath: FieldPath
  ) => {
    const missingReason = missingVariableReason(variable, env);
    if (missingReason === undefined && isValid(valueOfVariable(variable, env))) return [];
    const reason = missingReason ?? `the environment variable ${variable} contains no ${noun}`;
    return [faultOfField([...path, ...fieldPath, "env"], reason)];
  };
  return [
    ...apiKeys.flatMap((key, index) => checkVariable(isTestKey, "test key", key.env, "api_keys", index)),
    ...(signingSecret === undefined
      ? []
      : checkVariable(isSigningSecret, "signing secret (whsec_…)", signingSecret.env, "signing_secret")),
  ];
}
