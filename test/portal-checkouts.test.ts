import { expect, test } from "vitest";
import { createHarness } from "./support/harness.ts";
import { signedIn } from "./support/portal.ts";

test("a browser is signed in by a link, and its forms are taken", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const portal = await signedIn(harness, sandbox);
  expect((await portal.get(`${portal.home}/start`)).status).toBe(200);
  const frozen = await portal.act(`${portal.home}/clock`, { action: "freeze" });
  expect(frozen.status).toBe(200);
  expect(
    (await sandbox.request({ path: `${portal.home}/start`, headers: { Host: portal.host } })).status,
  ).toBe(401);
});
