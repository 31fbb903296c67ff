import type { Exploration } from "../../src/testing/testing.ts";
import { BROKEN } from "./broken.table.ts";

/** How the first finding of an exploration differs from what the table says of a broken shop; null if it does not. */
export function differenceFrom(name: string, { broken }: Pick<Exploration, "broken">): string | null {
  const wanted = new Map(Object.entries(BROKEN.explore)).get(name);
  const [found] = broken;
  if (wanted === undefined || found === undefined) return `${name}: nothing was found`;
  const steps: string[] = found.faults.map(({ action }) => action);
  if (found.payer !== "succeeded") steps.push(found.payer);
  const fits = [wanted.least, wanted.least.toReversed()].some((least) =>
    least.every((one, at) => one.includes(steps[at] ?? "")),
  );
  const isRight =
    fits &&
    steps.length === wanted.least.length &&
    found.invariant === wanted.invariant &&
    found.cause === wanted.cause;
  return isRight ? null : `${name}: ${found.invariant}, ${found.cause} by ${steps.join(" and ")}`;
}
