import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { createHarness } from "../support/harness.ts";
import { portalPages } from "../support/portal-addresses.ts";
import { textOf, signedIn } from "../support/portal.ts";
import { askPortal, portalHost, signIn } from "../support/portal-sign-in.ts";

/** Texts that a page would show only partly or not at all. */
const UNSEEN = [
  [" ", "\\u{20}"],
  ["\u3000", "\\u{3000}"],
  ["\n", "\\u{a}"],
  ["\ufe0f", "\\u{fe0f}"],
  ["\u0301", "\\u{301}"],
  [" order  1", "\\u{20}order\\u{20}\\u{20}1"],
] as const;
/** Names of stores that an older version accepted. */
const OLDER_NAMES = [
  [" ", "\\u{20}"],
  [" Tea Shop", "\\u{20}Tea Shop"],
  ["Default", '"Default"'],
  ["D\u0435fault", "D\\u{435}fault"],
  ["\uff34ea", "\\u{ff34}ea"],
] as const;
const LINK = /<(a|summary|h1|title)\b([^>]*)>(.*?)<\/\1>/gs;
const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** The links and headings of a page that have no name. */
function nameless(html: string): string[] {
  return Array.from(html.matchAll(LINK), ([whole, , attributes = "", inner = ""]) => [
    whole,
    `${textOf(inner)} ${/\baria-label="([^"]*)"/.exec(attributes)?.[1] ?? ""}`,
  ]).flatMap(([whole = "", name = ""]) => (SEEN.test(name) || whole.includes("hidden") ? [] : [whole]));
}

test("every link and heading has a visible text, whatever the names of orders, prices and stores", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await harness.run([...args, "--json"]);
    expect([args, code, stderr]).toEqual([args, 0, expect.anything()]);
    return stdout;
  };
  const ids: string[] = [];
  for (const [orderId] of UNSEEN) {
    const terms = ["--amount-minor", "100", "--currency", "JPY", "--payment-method", "wechat_pay"];
    const made = await run("orders", "create", "--order-id", orderId, ...terms, "--description", orderId);
    ids.push((JSON.parse(made) as { data: { id: string } }).data.id);
  }
  await run("endpoints", "add", "http://127.0.0.1:9/hooks");
  await run("sandbox", "pay", ids[0] ?? "", "--outcome", "succeeded");
  await run(
    "prices",
    "add",
    " ",
    "--amount-minor",
    "100",
    "--currency",
    "JPY",
    "--payment-method",
    "wechat_pay",
  );
  harness.clock.advance(1000);
  type Listed = Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>;
  const listed = async (what: string, name: string): Promise<string> =>
    (JSON.parse(await run(what, "list")) as Listed)[what]?.at(-1)?.[name] ?? "";
  const { store_id: storeId } = sandbox.ready;
  const known = {
    store_id: storeId,
    portal: storeId,
    admin: storeId,
    anything: "start",
    requests: await listed("requests", "request_id"),
    deliveries: await listed("deliveries", "id"),
    endpoints: await listed("endpoints", "id"),
    events: await listed("events", "event_id"),
  };
  const portal = await signedIn(harness, sandbox);
  const { cookie } = await signIn(harness, sandbox, "administrator");
  const get = async (path: string): Promise<string> => {
    if (!path.startsWith("/portal/admin")) return (await portal.get(path)).html;
    const headers = { Authorization: "", Host: portalHost(sandbox), Cookie: cookie };
    return String((await askPortal(sandbox, { path, headers })).body);
  };
  const pages = ids.flatMap((checkouts) => portalPages(PORTAL_AREA.routes, { ...known, checkouts }));
  const addresses = [...new Set(pages.map(({ address }) => address))];
  expect(addresses.length).toBeGreaterThan(20);
  for (const [name, shown] of OLDER_NAMES) {
    const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
    database.prepare("UPDATE stores SET name = ?").run(name);
    database.prepare("UPDATE merchants SET name = ' '").run();
    database.close();
    for (const address of addresses) expect([address, nameless(await get(address))]).toEqual([address, []]);
    expect(textOf(await get(`${portal.home}/stores`))).toContain(shown);
    const stores = await harness.run(["stores", "list"]);
    expect(stores.stdout).toContain(shown);
  }
  const payer = { Authorization: "", Host: new URL(sandbox.ready.checkout_origin).host };
  for (const [at, [, shown]] of UNSEEN.entries()) {
    const page = await sandbox.request({ path: `/pay/${ids[at] ?? ""}`, headers: payer });
    expect([nameless(String(page.body)), textOf(String(page.body))]).toEqual([
      [],
      expect.stringContaining(shown),
    ]);
    const told = await Promise.all([
      get(`${portal.home}/checkouts`),
      get(`${portal.home}/checkouts/${ids[at] ?? ""}`),
      get(`${portal.home}/requests`),
    ]);
    for (const html of told) expect(textOf(html)).toContain(shown);
    const commands = ["orders list", "requests list", `explain ${ids[at] ?? ""}`, "events list"];
    for (const line of commands) {
      const { stdout } = await harness.run(line.split(" "));
      expect([line, stdout]).toEqual([line, expect.stringContaining(shown)]);
    }
  }
});
