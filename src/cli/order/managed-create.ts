import { sendCreate, type CreateResult, type RequestedCreate } from "../../client/api/client.ts";
import type { RetryPolicy } from "../../client/api/retry.ts";
import { shellOf } from "../../core/shell/quote.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import type { Context } from "../command.ts";
import { catchRefusal, unwrap } from "../problem.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { callAt } from "../target/call.ts";
import { findControlTarget } from "../target/control.ts";
import type { ResolvedTarget, ServiceConnection } from "../target/resolve.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { unwrapCreateResult, type NewCheckout } from "./create-report.ts";
import type { CheckoutKind } from "./checkout-kinds.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { resolveInstanceId } from "./instance.ts";

type ManagedCreate = ServiceConnection & {
  readonly kind: CheckoutKind;
  readonly intent: RequestedCreate;
  readonly policy: RetryPolicy;
};

export async function createWithManagedKey(
  context: Context,
  options: ServiceOptions,
  { kind, intent, settings, policy, ...service }: ManagedCreate,
): Promise<NewCheckout> {
  const { world } = context;
  const target = { ...service.target, instance: await resolveInstanceId(world, settings) };
  unwrap(makeStateFolder(world, settings.journalFolder, options));
  using journal = openFolderJournal(context, settings.journalFolder);
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
  const { request } = intent;
  const missingCapability = await findMissingCapability(context, result, settings);
  const shell = shellOf(world.env);
  return unwrapCreateResult(context, {
    kind,
    request,
    result,
    missingCapability,
    targetFlags,
    settings,
    shell,
  });
}

/** The payment method or currency that the store lacks, according to the sandbox's explanation. */
async function findMissingCapability(
  context: Context,
  result: CreateResult,
  { isExplained, storeId }: Pick<ResolvedTarget, "isExplained" | "storeId">,
): Promise<string | undefined> {
  if (!isExplained || result.end !== "sent" || result.exchange.end !== "refusal") return undefined;
  const { error, requestId } = result.exchange;
  if (error.code !== "capability_missing") return undefined;
  const explained = await catchRefusal(explain(context, requestId, storeId.value));
  return explained.value?.received ?? undefined;
}

async function explain(context: Context, id: string, storeId: string | null) {
  const sandbox = await findControlTarget(context);
  if (sandbox === undefined) return undefined;
  const target = storeId === null ? sandbox : { ...sandbox, storeId };
  return callAt(context, target, { name: "explain", body: { id, as: "request" } });
}
