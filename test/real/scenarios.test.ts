import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../support/campaign.ts";
import { groupedDrifts, openDrifting } from "../support/drifting-service.ts";
import { runHere, startSandbox } from "../support/program.ts";
import { RUNNER, runScenarios, SCENARIOS, WORKFLOWS, type ScenarioAccess } from "../support/scenarios.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const PACKAGE = join(ROOT, "dist/testing.cjs");

/** A sandbox of the program, with what `checkout env` prints of it. */
async function openServed() {
  const cwd = tempFolder();
  const { port } = await startSandbox({ cwd });
  const { stdout } = await runHere(["env", "--format", "json", "--control"], { cwd });
  const access = JSON.parse(stdout) as ScenarioAccess;
  return { origin: `http://127.0.0.1:${port}`, access };
}

test("the description and the scenarios are what their standards ask for; the licence is the owner's", async () => {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const files = ["openapi-control.json", ...SCENARIOS.map((file) => join("arazzo", file))];
  const args = [RUNNER, "lint", ...files, "--format", "json"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: join(ROOT, "fixtures"),
    env,
  });
  expect(stderr.match(/: validated in/g)).toHaveLength(files.length);
  expect(Array.from(stdout.matchAll(/"ruleId": "(.+)"/g), ([, rule]) => rule)).toEqual(["info-license"]);
});

// By the lines of the document, and against the program: test/real/executable.test.ts.
test("all scenarios pass against the test kit", async () => {
  const kit = createRequire(import.meta.url)(PACKAGE) as typeof import("../../src/testing/testing.ts");
  const sandbox = await kit.startSandbox({ port: 0 });
  onTestFinished(() => sandbox.close());
  const { CHECKOUT_API_KEY, CHECKOUT_BASE_URL: baseUrl } = sandbox.store.env;
  const access = { CHECKOUT_API_KEY, CHECKOUT_CONTROL_TOKEN: sandbox.controlToken };
  const { origin: controlOrigin } = new URL(baseUrl);
  const { ran, failed } = await runScenarios({ baseUrl, controlOrigin, access });
  expect(failed).toEqual([]);
  expect(ran.toSorted()).toEqual(WORKFLOWS.toSorted());
});

test("a service that differs in one thing fails the steps that say so, and no others", async () => {
  const { origin, access } = await openServed();
  const groups = groupedDrifts();
  const work = (FULL ? groups : groups.slice(0, 2)).map(async ({ names, drifts, fails }) => {
    const drifting = await openDrifting(origin, drifts);
    const { failed } = await runScenarios({ baseUrl: `${drifting}/v1`, controlOrigin: drifting, access });
    expect([names, failed.toSorted()]).toEqual([names, fails.toSorted()]);
  });
  await Promise.all(work);
});
