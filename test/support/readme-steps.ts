import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The commands by which the README gets from nothing to ready, each as words, without `npx checkout`. */
export function readmeSteps(): string[][] {
  const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
  const blocks = Array.from(readme.matchAll(/```sh\n([\s\S]*?)```/g), ([, block = ""]) => block);
  const steps = blocks.find((block) => block.includes("checkout production request")) ?? "";
  const lines = steps.replaceAll(/\\\n\s*/g, "").matchAll(/^npx checkout ([^#\n]*)/gm);
  return Array.from(lines, ([, line = ""]) =>
    Array.from(
      line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
      ([, double, single, plain = ""]) => double ?? single ?? plain,
    ),
  );
}
