import { execFile } from "node:child_process";
import { globSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { blocksIn } from "./documents.ts";
import { tempFolder } from "./temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
/** The runner of Arazzo files. */
export const RUNNER = join(ROOT, "node_modules/@redocly/cli/bin/cli.js");
const FOLDER = join(ROOT, "fixtures/arazzo");

/** The files with the scenarios: for v1 alone, and for v1 with the control API. */
export const SCENARIOS: readonly string[] = globSync("*/*.arazzo.yaml", { cwd: FOLDER }).toSorted();

/** The names of all workflows, each with its file; each runs in a new store. */
export const WORKFLOWS: readonly string[] = SCENARIOS.flatMap((file) =>
  Array.from(
    readFileSync(join(FOLDER, file), "utf8").matchAll(/^ {2}- workflowId: (.+)$/gm),
    ([, name]) => `${file} ${name}`,
  ),
);

/** The variables of `checkout env --control` that the scenarios use. */
type ScenarioAccess = Readonly<Record<"CHECKOUT_API_KEY" | "CHECKOUT_CONTROL_TOKEN", string>>;

/** A service for the scenarios: the base URL of v1, the origin of the control API, and the credentials of both. */
type Service = {
  readonly baseUrl: string;
  readonly controlOrigin: string;
  readonly access: ScenarioAccess;
};

/** The workflows that were run, and the first failed step of each failed workflow. */
type ScenarioRun = { readonly ran: readonly string[]; readonly failed: readonly string[] };

/** Runs all scenarios against a service, in one process of the runner. */
export async function runScenarios({ baseUrl, controlOrigin, access }: Service): Promise<ScenarioRun> {
  const output = join(tempFolder(), "output.json");
  const servers = ["-S", `v1=${baseUrl}`, "-S", `control=${controlOrigin}`];
  const args = ["respect", ...SCENARIOS, ...servers, "--json-output", output];
  const env = {
    ...process.env,
    // The runner reads the inputs of the workflows from this variable.
    REDOCLY_CLI_RESPECT_INPUT: JSON.stringify({
      CHECKOUT_API_KEY: access.CHECKOUT_API_KEY,
      CHECKOUT_CONTROL_TOKEN: access.CHECKOUT_CONTROL_TOKEN,
    }),
    REDOCLY_TELEMETRY: "off",
    REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  };
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [RUNNER, ...args], { cwd: FOLDER, env }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  return readRun(output, printed);
}

/**
 * Runs all scenarios with the first command block of docs/scenarios.md, against the sandbox that runs in `cwd`. In that
 * block, `npx checkout` runs the command line `checkout`. Returns the number of passed workflows for each file.
 */
export async function runScenariosByDocument({
  cwd,
  checkout,
}: {
  readonly cwd: string;
  readonly checkout: string;
}): Promise<readonly number[]> {
  const bin = tempFolder();
  symlinkSync(join(ROOT, "fixtures"), join(cwd, "fixtures"));
  // This npx finds both programs, as if the package and the runner were installed.
  const cases = `checkout) ${checkout} "$@" ;; redocly) exec node '${RUNNER}' "$@" ;;`;
  writeFileSync(join(bin, "npx"), `#!/bin/sh\nname=$1; shift; case $name in ${cases} esac\n`, {
    mode: 0o755,
  });
  const [line = ""] = blocksIn("bash").flatMap(({ page, code }) =>
    page === "docs/scenarios.md" ? code : [],
  );
  const env = { ...process.env, PATH: `${bin}:${dirname(process.execPath)}:${process.env["PATH"]}` };
  const { stdout } = await promisify(execFile)("bash", ["-ec", line], { cwd, env });
  const counts = stdout.matchAll(/Workflows: (\d+) passed, (\d+) total/g);
  return Array.from(counts, ([, passed]) => Number(passed));
}

type Step = {
  readonly type: string;
  readonly stepId: string;
  readonly workflowId: string;
  readonly checks?: readonly { readonly passed: boolean }[];
  readonly executedSteps?: readonly Step[];
};
type Output = {
  readonly files: Readonly<Record<string, { readonly executedWorkflows: readonly Step[] }>>;
};

function readRun(output: string, printed: string): ScenarioRun {
  const [ran, failed]: [string[], string[]] = [[], []];
  for (const [file, { executedWorkflows }] of Object.entries(outputOf(output, printed).files))
    for (const workflow of executedWorkflows) {
      ran.push(`${file} ${workflow.workflowId}`);
      // For a repeated step, only the last attempt counts.
      const last = new Map(stepsOf(workflow).map((step) => [`${step.workflowId} ${step.stepId}`, step]));
      const first = [...last.values()].find(({ checks = [] }) => checks.some(({ passed }) => !passed));
      if (first !== undefined) failed.push(`${workflow.workflowId} ${first.stepId}`);
    }
  return { ran, failed };
}

function outputOf(path: string, printed: string): Output {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Output;
  } catch (error) {
    throw new Error(`the runner wrote nothing that can be read: ${printed.slice(-2000)}`, { cause: error });
  }
}

function stepsOf({ executedSteps = [] }: Step): readonly Step[] {
  return executedSteps.flatMap((step) => (step.executedSteps === undefined ? [step] : stepsOf(step)));
}
