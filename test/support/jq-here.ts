import { jqOutput } from "./jq.ts";

/** Stands in for `jq -r FILTER` where a machine has no jq. */
const [, , , filter = "."] = process.argv;
const lines: string[] = [];
for await (const chunk of process.stdin) lines.push(String(chunk));
const values = lines.join("").split("\n").filter(Boolean);
process.stdout.write(
  jqOutput(
    filter,
    values.map((line) => JSON.parse(line) as unknown),
  ),
);
