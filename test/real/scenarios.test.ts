import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { part } from "../support/campaign.ts";
import { DRIFTS, openDrifting } from "../support/drifting-service.ts";
import { run, startSandbox } from "../support/program.ts";
import { runScenarios, WORKFLOWS, type ScenarioAccess } from "../support/scenarios.ts";
import { tempFolder } from "../support/temp-folder.ts";

const PACKAGE = join(import.meta.dirname, "../../dist/testing.cjs");

/** A sandbox of the program, with what `checkout env` prints of it. */
async function openServed() {
  const cwd = tempFolder();
  const { port } = await startSandbox({ cwd });
  const { stdout } = await run(["env", "--format", "json", "--control"], { cwd });
  const access = JSON.parse(stdout) as ScenarioAccess;
  return { origin: `http://127.0.0.1:${port}`, access };
}

test("all scenarios pass against the program, with what checkout env prints as their input", async () => {
  const { origin, access } = await openServed();
  const { ran, failed } = await runScenarios({ baseUrl: `${origin}/v1`, controlOrigin: origin, access });
  expect(failed).toEqual([]);
  expect(ran.toSorted()).toEqual(WORKFLOWS.toSorted());
});

test("all scenarios pass against a sandbox of the test kit", async () => {
  const kit = createRequire(import.meta.url)(PACKAGE) as typeof import("../../src/testing/testing.ts");
  const sandbox = await kit.startSandbox({ port: 0 });
  onTestFinished(() => sandbox.close());
  const { CHECKOUT_API_KEY, CHECKOUT_BASE_URL: baseUrl } = sandbox.store.env;
  const access = { CHECKOUT_API_KEY, CHECKOUT_CONTROL_TOKEN: sandbox.controlToken };
  const { failed } = await runScenarios({ baseUrl, controlOrigin: new URL(baseUrl).origin, access });
  expect(failed).toEqual([]);
});

test("a service that differs in one thing fails the steps that say so, and no others", async () => {
  const { origin, access } = await openServed();
  for (const [name, drift] of part(Object.entries(DRIFTS), 3)) {
    const drifting = await openDrifting(origin, drift);
    const { failed } = await runScenarios({
      baseUrl: `${drifting}/v1`,
      controlOrigin: drifting,
      access,
    });
    expect([name, failed]).toEqual([name, drift.fails]);
  }
});
