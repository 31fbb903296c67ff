import { blocksIn } from "./documents.ts";

/** The commands of a page that set a shop up and make it ready for launch, each as arguments of `npx checkout`. */
export function launchSteps(name = "docs/launch.md"): string[][] {
  const steps =
    blocksIn("sh").find(({ page, code }) => page === name && code.includes("checkout production request"))
      ?.code ?? "";
  const lines = steps.replaceAll(/\\\n\s*/g, "").matchAll(/^npx checkout ([^#\n]*)/gm);
  return Array.from(lines, ([, line = ""]) =>
    Array.from(
      line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
      ([, double, single, plain = ""]) => double ?? single ?? plain,
    ),
  );
}
