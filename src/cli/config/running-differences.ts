import { findDifferentSettings, settingsIn } from "../../core/config/settings.ts";
import type { RequestedStore } from "../../core/config/store-fields.ts";
import { snakeCase } from "../../core/text.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { Context } from "../command.ts";
import { readAdminToken, readCredentials } from "../../host/folder/state-folder.ts";
import { catchRefusal, unwrap, Refused, type Difference } from "../problem.ts";
import type { RunningSandbox } from "../sandbox/running.ts";
import type { GivenSecret, GivenSecrets } from "../../host/given-secrets.ts";
import type { ServeOptions } from "../../host/options.ts";
import type { ChangeEntry } from "../../core/config/shapes.ts";

type RequestedOptions = {
  readonly options: ServeOptions;
  readonly givenSecrets: GivenSecrets;
};

/** Compares only requested options (decision 75), and never shows secrets. */
export async function sandboxDifferences(
  context: Context,
  { options, givenSecrets }: RequestedOptions,
  { folder, sandbox }: { readonly folder: string; readonly sandbox: RunningSandbox },
): Promise<{ readonly differences: readonly Difference[]; readonly includesStores: boolean }> {
  const secrets = await secretDifferences(context, givenSecrets, { folder, sandbox });
  const stores = await storeDifferences(context, options.setup?.stores ?? [], sandbox);
  const differences = [...settingDifferences(options, sandbox), ...secrets, ...stores];
  return { differences, includesStores: stores.length > 0 };
}

function settingDifferences(options: ServeOptions, { description }: RunningSandbox): readonly Difference[] {
  const { settings, heldBack } = description;
  const fields = findDifferentSettings(settingsIn(options), settings).map(({ option, requested, live }) => ({
    field: snakeCase(option),
    expected: requested,
    live,
  }));
  // A configuration cannot contain these options.
  const rows: readonly (readonly [field: string, given: string | undefined, live: string])[] = [
    ["log_format", options.logFormat, settings.logFormat],
    ["quiet", options.quiet === true ? "yes" : undefined, settings.quiet ? "yes" : "no"],
    ["adopt", options.adopt === true ? "yes" : undefined, heldBack === null ? "yes" : "no"],
  ];
  const otherFields = rows.flatMap(([field, value, liveValue]) =>
    value === undefined || value === liveValue ? [] : [{ field, expected: value, live: liveValue }],
  );
  return [...fields, ...otherFields];
}

async function secretDifferences(
  context: Context,
  { apiKey, signingSecret, controlToken, adminToken }: GivenSecrets,
  { folder, sandbox }: { readonly folder: string; readonly sandbox: RunningSandbox },
): Promise<readonly Difference[]> {
  const { description, run } = sandbox;
  const keptAdminToken = adminToken === undefined ? undefined : unwrap(readAdminToken(context.world, folder));
  const isKnown = apiKey === undefined ? true : await isKeyOfSandbox(context, apiKey, { folder, sandbox });
  const secrets: readonly (readonly [given: GivenSecret | undefined, live: string | undefined])[] = [
    [apiKey, isKnown ? apiKey?.value : undefined],
    [signingSecret, description.signingSecret],
    [controlToken, run.control_token],
    [adminToken, keptAdminToken],
  ];
  return secrets.flatMap(([secret, liveValue]) =>
    secret === undefined || secret.value === liveValue
      ? []
      : [{ field: secret.source, expected: "as given", live: "another value" }],
  );
}

/** The sandbox stores only hashes of keys, so a dry run must show whether it would add the key. */
async function isKeyOfSandbox(
  context: Context,
  { value }: GivenSecret,
  { folder, sandbox }: { readonly folder: string; readonly sandbox: RunningSandbox },
): Promise<boolean> {
  const { storeId: id, storeName: name } = sandbox.description;
  const credentials = unwrap(readCredentials(context.world, folder));
  if (credentials?.stores[id]?.api_key === value) return true;
  const outcome = await catchRefusal(planAt(context, [{ id, name, apiKeys: [value] }], sandbox));
  if (outcome.ok) return outcome.value.some(({ kind, action }) => kind === "api_key" && action === "keep");
  if (outcome.refusal.code === "state_conflict") return false;
  throw new Refused(outcome.refusal);
}

async function storeDifferences(
  context: Context,
  stores: readonly RequestedStore[],
  sandbox: RunningSandbox,
): Promise<readonly Difference[]> {
  if (stores.length === 0) return [];
  const changes = await planAt(context, stores, sandbox);
  const addedStores = new Set(
    changes.filter(({ kind, action }) => kind === "store" && action === "add").map(({ storeId }) => storeId),
  );
  return changes
    .filter(({ kind, storeId }) => kind === "store" || !addedStores.has(storeId))
    .flatMap(differencesOfChange);
}

function differencesOfChange({ action, kind, name, differences }: ChangeEntry): readonly Difference[] {
  const itemName = `${kind} ${name}`;
  if (action === "add") return [{ field: itemName, expected: "there", live: "missing" }];
  if (action !== "change") return [];
  return differences.map(({ field, from, to }) => ({
    field: `${itemName} ${field}`,
    expected: String(to),
    live: String(from),
  }));
}

export function hideStoreSecrets(stores: readonly RequestedStore[], { hide }: Context["printer"]): void {
  for (const { apiKeys = [], signingSecret = "" } of stores) [...apiKeys, signingSecret].forEach(hide);
}

/** Imports the table of operations only here, because most starts do not need it. */
async function planAt(
  context: Context,
  stores: readonly RequestedStore[],
  { run }: RunningSandbox,
): Promise<readonly ChangeEntry[]> {
  const { callAt } = await import("../target/call.ts");
  const { printer, version } = context;
  hideStoreSecrets(stores, printer);
  const target = { origin: localOrigin(run.port ?? 0), token: run.control_token, version };
  const body = { stores, prune: false, dryRun: true };
  return (await callAt(context, target, { name: "applyConfig", body })).changes;
}
