import { DELIVERY_STATES, DELIVERY_STATE_TEXTS } from "../../src/core/webhook/delivery.ts";
import type { OutputKind } from "../../src/cli/output/kind.ts";
import { OUTPUT_KINDS } from "../../src/cli/output/kinds.ts";
import { code, page, table, wrap } from "./markdown.ts";

export function jsonPage(): string {
  return page("Results as JSON", [
    wrap(
      "With `--json` a command prints its result as one line of JSON, and nothing else on stdout. A stream, such as " +
        "`listen` or `sandbox logs`, has one line for each item. Names are in snake_case, times are ISO 8601 in " +
        "UTC, and a field that does not apply is null or missing. An error is one line of the kind " +
        "`error` on stderr, and the exit code is not 0. In a shell or a CI job, `jq` reads a field:",
    ),
    SAMPLE,
    wrap(
      "A pipe ends with the exit code of `jq`, so a failed command does not end the script: in bash, first run " +
        "`set -o pipefail`.",
    ),
    wrap(
      "`hosted-checkout/output.schema.json` has the JSON Schema of each kind below, as `#/$defs/KIND`. A list of a " +
        "store's objects has the field `store_id`, and one field with the objects. The fields of an order or a session are always at the top level. " +
        "The field `data` of a create and of `sessions get` repeats these fields in the old form, and will be removed.",
    ),
    table(["kind", "content", "printed by", "jq"], Object.entries<OutputKind>(OUTPUT_KINDS).map(rowOf)),
    wrap(
      "The `state` of a delivery is one of " +
        `${DELIVERY_STATES.map((state) => `${code(state)} (${DELIVERY_STATE_TEXTS[state]})`).join(", ")}. ` +
        "To find deliveries with a failed attempt, look at `attempts`, not at `state`.",
    ),
    wrap(
      "A `run` always has `ok`, `items` and `broken`. If the run recorded a single part, it also has `verdict`, " +
        "`drill_id` and `steps` at the top level. A list has at most `--limit` items; pass its `next_before` to " +
        "`--before` to read the next items, until `next_before` is null.",
    ),
    table(
      ["to read", "from", "jq"],
      READINGS.map(([goal, from, jq]) => [goal, code(`${from} --json`), filter(jq)]),
    ),
    wrap(
      "`exec` and `mcp` have no JSON result: `exec` prints the output of its command, and `mcp` the messages of its protocol.",
    ),
  ]);
}

const SAMPLE = `\`\`\`sh
npx checkout exec -- sh -e <<'EOF'
npx checkout orders create --order-id order-7001 --price-id price_coffee --json | jq -r .id
npx checkout sandbox pay order-7001 --json | jq -r .status
npx checkout events list --order-id order-7001 --json | jq -r '.events[].type'
EOF
\`\`\``;

const READINGS = [
  ["whether every rule held", "checklist run", ".ok"],
  ["each judged part with its verdict", "checklist run", ".items[] | [.part, .verdict] | @tsv"],
  ["each finding with its cause", "checklist run", ".broken[] | [.history, .cause] | @tsv"],
  [
    "deliveries that failed at least once",
    "deliveries list --limit 1000",
    ".deliveries[] | select(any(.attempts[]; .finished_at and (.status == null or .status > 299))).id",
  ],
] as const;

function filter(jq: string): string {
  return code(`jq -r '${jq}'`);
}

function rowOf([name, { about, commands, jq }]: readonly [string, OutputKind]): readonly string[] {
  return [code(name), about, printedBy(commands), filter(jq)];
}

/** Groups commands: `endpoints add, remove`. */
function printedBy(commands: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const words of commands) {
    const [group = "", verb = ""] = /^(.*) (\S+)$/.exec(words)?.slice(1) ?? [words];
    groups.set(group, [...(groups.get(group) ?? []), verb]);
  }
  if (commands.length === 0) return "any command";
  return [...groups].map(([group, verbs]) => code(`${group} ${verbs.join(", ")}`.trim())).join("; ");
}
