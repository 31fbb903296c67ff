import { historyOf, namesInOrder, PLAIN_PURCHASE } from "../../core/judge/histories/histories.ts";
import { combinationName, pairedCombinations, placesIn } from "../../core/judge/histories/places.ts";
import type { History } from "../../core/judge/step.ts";
import type { Bench } from "./bench.ts";
import type { RunPlan, Turn } from "./played.ts";

/**
 * `alone`: runs while all other histories only wait. `creates`: runs at the same time only as other histories of this
 * pace.
 */
type Pace = "beside" | "creates" | "alone" | "last";

export function batchesOf(
  { shop, recording }: Pick<Bench, "shop" | "recording">,
  plan: RunPlan,
): readonly (readonly [Pace, readonly Turn[]])[] {
  const batches: [Pace, Turn[]][] = [];
  // Histories of the part `duplicates` are combined with others, whichever parts are selected.
  const hasPlace = (place: string): boolean => {
    const history = historyOf(place);
    return canRun(history, shop) && (history.part === "duplicates" || plan.parts.has(history.part));
  };
  const combinations = pairedCombinations(hasPlace).map(combinationName);
  const requestedCombinations = [...(plan.names ?? [])].filter((name) => (placesIn(name) ?? []).length > 1);
  const allNames = namesInOrder([...combinations, ...requestedCombinations]);
  const { names = new Set(allNames) } = plan;
  for (const name of allNames) {
    if (!names.has(name) || name === PLAIN_PURCHASE) continue;
    const history = historyOf(name);
    if (!isPlanned(history, plan) || !canRun(history, shop)) continue;
    const pace = paceOf(history, recording);
    const turns = (shop.kinds ?? (["order"] as const)).map((kind) => ({ name, kind }));
    const lastBatch = batches.at(-1);
    if (lastBatch?.[0] === pace) lastBatch[1].push(...turns);
    else batches.push([pace, turns]);
  }
  return batches;
}

function paceOf({ pace, steps }: History, { hasSameId }: Bench["recording"]): Pace {
  if (steps.some((step) => step.act === "faults" && step.of === "all")) return "last";
  // Faults before the order_id is known apply to all orders.
  const hasEarlyFaults = steps[0]?.act === "faults";
  if (!hasSameId && (pace === "creates" || hasEarlyFaults)) return "alone";
  return pace ?? "beside";
}

function isPlanned({ part, isLong }: History, { parts, names, isQuick }: RunPlan): boolean {
  return names !== undefined || (parts.has(part) && !(isQuick && isLong === true));
}

function canRun({ needs = [], steps }: History, shop: Bench["shop"]): boolean {
  const isSeen = shop.view !== undefined || steps.every(({ act }) => act !== "look");
  return isSeen && needs.every((need) => shop[need] !== undefined);
}
