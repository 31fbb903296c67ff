import { expect, test } from "vitest";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { textOf } from "../support/portal.ts";

test("if checkout_url is a loopback address, the payment page says that a phone cannot open it", async () => {
  for (const [args, says] of [
    [[], "so a phone cannot open it. Pay here with the button below."],
    [["--public-url", "https://pay.example"], "Scan the code with your phone"],
  ] as const) {
    const harness = createHarness();
    const sandbox = await harness.start([...EPHEMERAL, ...args]);
    const { checkout_url: address } = await harness.order("order-1");
    const { host, pathname: path } = new URL(address);
    const headers = { Authorization: "", Host: host, "Sec-Fetch-Site": "same-origin" };
    const page = async (): Promise<string> => String((await sandbox.request({ path, headers })).body);
    const [, token = ""] = /name="token" value="([^"]+)"/.exec(await page()) ?? [];
    await sandbox.request({
      path: `${path}/start`,
      headers: { ...headers, "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ token }).toString(),
    });
    expect(textOf(await page())).toContain(says);
  }
});
