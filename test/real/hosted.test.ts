import { expect, onTestFinished, test } from "vitest";
import { createHostedStore, startHosted } from "../support/hosted.ts";
import { runScenarios, WORKFLOWS } from "../support/scenarios.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("all scenarios pass against the service in workerd", async () => {
  const service = await startHosted(tempFolder());
  onTestFinished(service.stop);
  const { apiKey } = await createHostedStore(service);
  const access = { CHECKOUT_API_KEY: apiKey, CHECKOUT_CONTROL_TOKEN: service.controlToken };
  const { origin } = service;
  const { ran, failed } = await runScenarios({ baseUrl: `${origin}/v1`, controlOrigin: origin, access });
  expect(failed).toEqual([]);
  expect(ran.toSorted()).toEqual(WORKFLOWS.toSorted());
});
