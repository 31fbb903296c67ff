import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../support/campaign.ts";
import { groupedDrifts, openDriftingService } from "../support/drifting-service.ts";
import { RUNNER, runScenarios, SCENARIOS, WORKFLOWS } from "../support/scenarios.ts";

const ROOT = join(import.meta.dirname, "../..");
const PACKAGE = join(ROOT, "dist/testing.cjs");

test("the OpenAPI document and the Arazzo scenarios are valid according to their specifications", async () => {
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

/** A sandbox of the test kit that is served on a port. */
async function openKit() {
  const kit = createRequire(import.meta.url)(PACKAGE) as typeof import("../../src/testing/testing.ts");
  const sandbox = await kit.startSandbox({ port: 0 });
  onTestFinished(() => sandbox.close());
  const access = {
    CHECKOUT_API_KEY: sandbox.store.env["CHECKOUT_API_KEY"] ?? "",
    CHECKOUT_CONTROL_TOKEN: sandbox.controlToken,
  };
  return { origin: sandbox.origin, access };
}

const NO_DRIFT = { names: [], drifts: [], fails: [] } as const;

// test/real/journeys.test.ts runs all scenarios against the executable as docs/scenarios.md does, and
// test/real/hosted.test.ts runs them in workerd.
test("if the service is changed, a scenario fails only at the steps that test the change", async () => {
  const { origin, access } = await openKit();
  const groups = groupedDrifts().toSorted((one, other) => other.names.length - one.names.length);
  const work = (FULL ? [NO_DRIFT, ...groups] : groups.slice(0, 1)).map(async ({ names, drifts, fails }) => {
    const drifting = await openDriftingService(origin, drifts);
    const service = { baseUrl: `${drifting}/v1`, controlOrigin: drifting, access };
    const { ran, failed } = await runScenarios(service);
    expect([names, failed.toSorted()]).toEqual([names, fails.toSorted()]);
    expect(ran.toSorted()).toEqual(WORKFLOWS.toSorted());
  });
  await Promise.all(work);
});
