import { expect, test } from "vitest";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { textOf } from "../support/portal.ts";
import { english } from "../../src/core/language.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";

test("if checkout_url is a loopback address, the payment page says that a phone cannot open it", async () => {
  for (const [args, says] of [
    [[], PAYMENT_TEXTS.noPhone],
    [["--public-url", "https://pay.example"], PAYMENT_TEXTS.scanHint],
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
    expect(textOf(await page())).toContain(english(says));
  }
});
