import { sendCreate, type RequestedCreate, type ServiceTarget } from "../../client/api/client.ts";
import type { Journal } from "../../core/checkout/journal.ts";
import type { RetryPolicy } from "../../client/api/retry.ts";
import type { Context } from "../command.ts";
import { unwrapCreate, type CreatedCheckout, type CheckoutKind } from "./create-report.ts";
import { unwrap } from "../problem.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { resolveInstance } from "./instance.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import type { ResolvedTarget } from "../target/resolve.ts";
import { runWithSpinner } from "../request/exchange.ts";

type ManagedCreate = { readonly kind: CheckoutKind; readonly intent: RequestedCreate };
type Service = {
  readonly target: ServiceTarget;
  readonly settings: ResolvedTarget;
  readonly policy: RetryPolicy;
};

/** Creates a checkout with a key from the journal in the state folder. Refuses unless the create succeeds. */
export async function createWithManagedKey(
  context: Context,
  options: ServiceOptions,
  { kind, intent, ...service }: ManagedCreate & Service,
): Promise<CreatedCheckout> {
  const [createdCheckout] = await createAllWithManagedKeys(context, options, {
    ...service,
    inputs: [{ kind, intent }],
  });
  if (createdCheckout === undefined) throw new Error("a create returns a checkout or is refused");
  return createdCheckout;
}

export async function createAllWithManagedKeys(
  context: Context,
  options: ServiceOptions,
  { inputs, ...service }: Service & { readonly inputs: readonly ManagedCreate[] },
): Promise<readonly CreatedCheckout[]> {
  const { world } = context;
  const { settings } = service;
  const target = { ...service.target, instance: await resolveInstance(world, settings) };
  const folder = settings.journalFolder;
  unwrap(makeStateFolder(world, folder, options));
  using journal = openFolderJournal(context, folder);
  const createdCheckouts: CreatedCheckout[] = [];
  for (const input of inputs)
    createdCheckouts.push(
      await createWithJournal(context, options, { ...service, ...input, target, journal }),
    );
  return createdCheckouts;
}

async function createWithJournal(
  context: Context,
  options: ServiceOptions,
  managedCreate: ManagedCreate & Service & { readonly journal: Journal },
): Promise<CreatedCheckout> {
  const { world } = context;
  const { kind, intent, policy, target, settings, journal } = managedCreate;
  const result = await runWithSpinner(context, (watch) =>
    sendCreate(world, target, { intent, journal, policy, ...watch }),
  );
  const dirFlag = options.dir === undefined ? {} : { dir: settings.folder.value };
  const storeFlag = target.storeId === null ? {} : { store: target.storeId };
  // The folder's sandbox needs no address, because it is found even on another port.
  const addressFlag = target.locate === undefined ? { "base-url": target.baseUrl } : {};
  const { target: targetName } = settings;
  const serviceFlag = targetName === undefined ? addressFlag : { target: targetName };
  const targetFlags = { ...serviceFlag, ...storeFlag, ...dirFlag };
  return unwrapCreate(context, { kind, request: intent.request, result, targetFlags, settings });
}
