import type { ControlTarget } from "../../client/control/control.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { findSandboxTarget, resolveStore } from "../target/control.ts";
import { listNewestCandidates } from "../target/ids.ts";
import type { Completion, ValueKind } from "./kinds.ts";

const TIMEOUT_MS = 1000;
const MAX_CHECKOUTS = 200;

/** Returns an empty list if no sandbox answers in time. The caller must still filter by `prefix`. */
export async function sandboxValues(
  context: Context,
  kind: ValueKind,
  prefix: string,
): Promise<readonly Completion[]> {
  const sandbox = catchRefusal(() => findSandboxTarget(context)).value;
  if (sandbox === undefined) return [];
  const list = async (): Promise<readonly Completion[]> =>
    listValues(context, await resolveStore(context, { ...sandbox, timeoutMs: TIMEOUT_MS }), { kind, prefix });
  return (await catchRefusal(list())).value ?? [];
}

async function listValues(
  context: Context,
  target: ControlTarget,
  { kind, prefix }: { readonly kind: ValueKind; readonly prefix: string },
): Promise<readonly Completion[]> {
  switch (kind) {
    case "checkout":
    case "orderId":
      return checkoutValues(context, target, { kind, prefix });
    case "endpoint":
    case "fault":
      return (await listNewestCandidates(context, kind, target)).map(({ id: value, about: description }) => ({
        value,
        description,
      }));
    case "store": {
      const { stores } = await callAt(context, target, { name: "listStores", body: undefined });
      return stores.flatMap(({ storeId, name }) => [
        { value: name, description: "store" },
        { value: storeId, description: name },
      ]);
    }
    case "snapshot": {
      const { snapshots } = await callAt(context, target, { name: "listSnapshots", body: undefined });
      return snapshots.map(({ name, storeId }) => ({
        value: name,
        description: storeId === null ? "the whole sandbox" : `store ${storeId}`,
      }));
    }
  }
}

async function checkoutValues(
  context: Context,
  target: ControlTarget,
  { kind, prefix }: { readonly kind: "checkout" | "orderId"; readonly prefix: string },
): Promise<readonly Completion[]> {
  // The search `q` cannot match the start of an id, so it is omitted if the typed text may be one.
  const q = prefix === "" || /^[0-9a-f-]+$/i.test(prefix) ? {} : { q: prefix };
  const body = { limit: MAX_CHECKOUTS, ...q };
  const { checkouts } = await callAt(context, target, { name: "listCheckouts", body });
  const orderIds = checkouts.map(({ object, orderId, status }) => ({
    value: orderId,
    description: `${object === "order" ? "order" : "session"}, ${status}`,
  }));
  // Ids are offered only once something is typed, because order_ids are easier to read.
  const offersIds = kind === "checkout" && prefix !== "";
  return [
    ...orderIds,
    ...(offersIds ? checkouts.map(({ id, orderId }) => ({ value: id, description: orderId })) : []),
  ];
}
