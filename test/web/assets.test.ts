import { expect, test } from "vitest";
import { createAsset } from "../../src/web/asset.ts";
import { createHarness } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";

const NAMED = /(?:src|href)="([^"]+\.(?:css|js)[^"]*)"/g;

test("every stylesheet and script has its hash in its address, and only that address is cached for a year", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const portal = await signedIn(harness, sandbox);
  const pages = [`${portal.home}/checkouts`, "/", "/portal/admin/sign-in", `${portal.home}/nothing-here`];
  const addresses = new Set<string>();
  for (const page of pages) {
    const { html } = await portal.get(page);
    const named = [...html.matchAll(NAMED)].map(([, address = ""]) => address);
    expect([page, named.length > 1]).toEqual([page, true]);
    for (const address of named) addresses.add(address);
  }
  expect(addresses.size).toBe(6);
  for (const address of addresses) {
    const [path = "", version = ""] = address.split("?");
    expect(version).toMatch(/^v=[\da-f]{12}$/);
    const control = async (target: string): Promise<string | undefined> => {
      const { status, headers } = await portal.get(target);
      return status === 200 ? headers["Cache-Control"] : String(status);
    };
    expect([path, await control(address)]).toEqual([path, "max-age=31536000, immutable"]);
    for (const other of [path, `${path}?v=000000000000`, `${address}&x=1`])
      expect([other, await control(other)]).toEqual([other, "no-cache"]);
  }
});

test("a changed stylesheet or script has another address", () => {
  const [before, after] = ["a{}", "b{}"].map(
    (text) => createAsset("/assets/x.css", "text/css", text).address,
  );
  expect(before).not.toBe(after);
});
