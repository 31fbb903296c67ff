import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";
import { SECRET_DESCRIPTION } from "../../src/core/text.ts";

test("a key, secret or token in an endpoint's URL, or a fault's path or order_id, is refused, and stored nowhere", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const canaries = [
    String(sandbox.ready.api_key),
    "svc_control_canaryCONTROL0123456789",
    "svc_admin_canaryADMIN0123456789ab",
    "whsec_canarySECRET0123456789",
  ];
  const encoded = (text: string): string => text.replace("svc", "%73vc").replace("whsec", "%77hsec");
  const { endpoints, faults } = { endpoints: ["endpoints", "add"], faults: ["faults", "add", "latency"] };
  for (const canary of canaries.flatMap((text) => [text, encoded(text)]))
    for (const line of [
      [...endpoints, `http://127.0.0.1:9/hooks?key=${canary}`],
      [...endpoints, `http://127.0.0.1:9/${canary}`],
      [...faults, "--latency", "1s", "--path", `/v1/checkout-sessions/${canary}`],
      [...faults, "--latency", "1s", "--order-id", canary],
    ]) {
      const { code, stderr } = await harness.run(line);
      expect([line, code]).toEqual([line, 2]);
      expect(stderr).toContain(SECRET_DESCRIPTION);
    }
  expect((await harness.run(["endpoints", "add", "http://127.0.0.1:9/hooks?key=plain"])).code).toBe(0);
  const exported = await harness.run(["config", "export"]);
  expect((await harness.run(["snapshots", "create", "kept"])).code).toBe(0);
  const folder = join(harness.cwd, ".checkout");
  const files = (readdirSync(folder, { recursive: true }) as string[]).filter(
    (name) => statSync(join(folder, name)).isFile() && !/^(credentials|admin|run)\.json$/.test(name),
  );
  expect(files.some((name) => name.includes("sandbox.db"))).toBe(true);
  for (const canary of canaries) {
    const tail = canary.slice(-16);
    expect(exported.stdout).not.toContain(tail);
    for (const name of files)
      expect([name, readFileSync(join(folder, name), "latin1").includes(tail)]).toEqual([name, false]);
  }
});
