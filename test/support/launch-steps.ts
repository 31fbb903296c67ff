import { blocksIn } from "./documents.ts";

/** The commands by which the documents get a shop from nothing to ready, each as words, without `npx checkout`. */
export function launchSteps(): string[][] {
  const steps = blocksIn("sh").find(({ code }) => code.includes("checkout production request"))?.code ?? "";
  const lines = steps.replaceAll(/\\\n\s*/g, "").matchAll(/^npx checkout ([^#\n]*)/gm);
  return Array.from(lines, ([, line = ""]) =>
    Array.from(
      line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
      ([, double, single, plain = ""]) => double ?? single ?? plain,
    ),
  );
}
