import { toIso } from "../../core/clock.ts";
import { hasEnded, type Fault } from "../../core/fault/fault.ts";
import type { FaultsRequest } from "../../core/fault/shapes.ts";
import { parseFaults, type FaultTerms } from "../../core/fault/request.ts";
import { accept, type Outcome, prefixFieldName } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { World } from "../../world.ts";
import { withStore, findEndpoint, storeTime } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import { findEvent } from "../webhook/endpoints.ts";
import { removeEndedFaults } from "./active.ts";

type FaultsContext = ServiceContext & {
  readonly world: Pick<World, "now" | "uuid" | "randomBytes">;
};

const MAX_FAULTS = 100;
const SEED_BYTES = 8;

/**
 * Refuses conflicting fields, an unknown event or endpoint, a past `until`, and more than `MAX_FAULTS` faults. With
 * `leaseId`, the faults end with the lease.
 */
export function addFaults(
  context: FaultsContext,
  { storeId, leaseId }: { readonly storeId: string; readonly leaseId: string | undefined },
  request: FaultsRequest,
): Promise<Outcome<readonly Fault[]>> {
  const terms = parseFaults(request);
  return withStore(context, storeId, (store, now) => {
    if (!terms.ok) return terms;
    const activeFaults = removeEndedFaults(context, storeId, now);
    if (activeFaults.length + terms.value.length > MAX_FAULTS)
      return refuseFact("too_many_faults", { most: MAX_FAULTS });
    const seed = Buffer.from(context.world.randomBytes(SEED_BYTES)).toString("hex");
    const newFaults: Fault[] = [];
    for (const faultTerms of terms.value) {
      const missingRefusal = refuseMissing(context, storeId, faultTerms);
      if (missingRefusal !== undefined) return missingRefusal;
      if (faultTerms.until !== null && faultTerms.until <= now)
        return prefixFieldName("until", refuseFact("until_past", { now: toIso(now) }));
      const counts = { matched: 0, applied: 0, createdAt: now };
      const id = context.world.uuid(`${storeId} faults`);
      newFaults.push({ ...faultTerms, id, storeId, seed: faultTerms.seed ?? seed, ...counts });
    }
    for (const fault of newFaults) {
      store.faults.insert(fault);
      if (leaseId !== undefined) store.leaseEffects.note({ leaseId, storeId, faultId: fault.id });
    }
    return accept(newFaults);
  });
}

export function listFaults(
  context: Pick<FaultsContext, "store" | "world">,
  storeId: string,
): readonly Fault[] {
  const now = storeTime(context, storeId);
  return context.store.faults.readUncached(storeId).filter((fault) => !hasEnded(fault, now));
}

export function removeFault(context: FaultsContext, storeId: string, id: string): Promise<Outcome<Fault>> {
  return withStore(context, storeId, (store, now) => {
    const foundFault = removeEndedFaults(context, storeId, now).find((fault) => fault.id === id);
    if (foundFault === undefined) return refuseFact("no_fault", { id });
    store.faults.remove(id);
    return accept(foundFault);
  });
}

export function clearFaults(context: FaultsContext, storeId: string): Promise<Outcome<readonly Fault[]>> {
  return withStore(context, storeId, (store, now) => {
    const faults = removeEndedFaults(context, storeId, now);
    for (const { id } of faults) store.faults.remove(id);
    return accept(faults);
  });
}

function refuseMissing(
  { store }: FaultsContext,
  storeId: string,
  { match: { eventId, endpointId } }: FaultTerms,
): Outcome<never> | undefined {
  const event = eventId === null ? undefined : findEvent(store, storeId, eventId);
  if (event?.ok === false) return event;
  const endpoint = endpointId === null ? undefined : findEndpoint(store, { storeId, endpointId });
  return endpoint?.ok === false ? endpoint : undefined;
}
