import { jqOutput } from "./jq.ts";

/** Replaces `jq -r FILTER` on a machine without jq. */
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
