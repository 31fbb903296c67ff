type Json = Readonly<Record<string, unknown>>;

/** The output of `jq -r` for these values, for the filters in our documents: paths and `select`. */
export function jqOutput(filter: string, values: readonly unknown[]): string {
  // A bar inside the parentheses of `select` does not end a stage.
  const stages = filter.match(/(?:[^|(]|\([^)]*\))+/g) ?? [];
  const found = stages.reduce<readonly unknown[]>((shown, stage) => applyStage(stage.trim(), shown), values);
  return found
    .map((value) => `${typeof value === "string" ? value : JSON.stringify(value, null, 2)}\n`)
    .join("");
}

function applyStage(stage: string, values: readonly unknown[]): readonly unknown[] {
  const [, condition, path = stage] = /^select\((.*)\)(.*)$/.exec(stage) ?? [];
  const kept = condition === undefined ? values : values.filter((value) => holds(condition, value));
  return path === "" ? kept : follow(path, kept);
}

function holds(condition: string, value: unknown): boolean {
  const [, path = "", operator, text] = /^(\.[\w.]+)(?: (==|!=) "(.*)"| \| (?:not))?$/.exec(condition) ?? [];
  const [read] = follow(path, [value]);
  if (operator === undefined) return condition.endsWith("not") !== Boolean(read);
  return (read === text) === (operator === "==");
}

/** The values at a path such as `.items[].id` or `."Checkout-Signature"`. */
function follow(path: string, values: readonly unknown[]): readonly unknown[] {
  const steps = Array.from(path.matchAll(/\.?"([^"]+)"|\.(\w+)|(\[\])/g));
  return steps.reduce<readonly unknown[]>(
    (all, [, quoted, plain, each]) =>
      each === undefined
        ? all.map((one) => (one as Json)[quoted ?? plain ?? ""] ?? null)
        : all.flatMap((one) => {
            if (typeof one !== "object" || one === null) throw new Error(`${path}: nothing to iterate over`);
            return Object.values(one);
          }),
    values,
  );
}
