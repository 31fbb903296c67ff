import { expect, test } from "vitest";
import { createHarness } from "./support/harness.ts";
import { signedIn, type Page } from "./support/portal.ts";

async function openPortal() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const portal = await signedIn(harness, sandbox);
  const { home } = portal;
  /** Posts a form below the store, and loads the page that follows. */
  const act = (path: string, fields: Readonly<Record<string, string>> = {}): Promise<Page> =>
    portal.act(`${home}${path}`, fields);
  const get = (path: string): Promise<Page> => portal.get(`${home}${path}`);
  const run = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await harness.run(line.split(" "));
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    return stdout;
  };
  return { harness, sandbox, portal, home, act, get, run, storeId: sandbox.ready.store_id };
}

const PAGES = ["/start", "/catalog", "/keys", "/settings", "/clock", "/faults", "/stores"] as const;

test("each page of a store says in an empty one what it will show and what to type, in both languages", async () => {
  const { portal, sandbox, home } = await openPortal();
  for (const path of PAGES) {
    for (const language of ["en", "zh"]) {
      const headers = {
        Authorization: "",
        Host: portal.host,
        Cookie: portal.cookie,
        "Accept-Language": language,
      };
      const answer = await sandbox.request({ path: `${home}${path}`, headers });
      expect([path, answer.status]).toEqual([path, 200]);
      expect(String(answer.body)).not.toMatch(/undefined|NaN|\[object/);
    }
  }
  expect((await portal.get(`${home}/faults`)).text).toContain("checkout faults add lose_answer");
  expect((await portal.get(`${home}/settings`)).text).toContain("checkout return-origins add");
  expect((await portal.get(`${home}/stores`)).text).toContain("checkout snapshots create");
});
