import { FINDINGS } from "./broken.table.ts";

/** A finding of an exploration, of the kit or of the command. */
type Finding = {
  readonly invariant: string;
  readonly cause: string;
  readonly faults: readonly { readonly action: string }[];
  readonly payer: string;
};

/**
 * The difference between the first finding of an exploration and the table's row for the broken shop; null if there is
 * none.
 */
export function differenceFrom(
  name: string,
  { broken }: { readonly broken: readonly Finding[] },
  table: "explore" | "exploreClients" | "exploreKilled" = "explore",
): string | null {
  const wanted = new Map(Object.entries(FINDINGS[table])).get(name);
  const [found] = broken;
  if (wanted === undefined || found === undefined) return `${name}: nothing was found`;
  const steps = found.faults.map(({ action }) => action);
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
