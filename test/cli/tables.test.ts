import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import stringWidth from "string-width";
import { expect, test } from "vitest";
import { installClient, longKeysClient } from "../support/shop-clients.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

/** Matches the header of a table. */
const HEADER = /^ *[A-Z][A-Z()…-]+( [A-Z]+…?)*(  +[A-Z][A-Z ()…-]+)+$/;
const LONG_ORDER = "order-of-the-shop-with-32-letter";
const LONG_URL = "http://localhost:3000/a/path/of/hooks/that/is/longer/than/half/a/line/of/a/terminal";
const SETUP: readonly string[] = [
  `endpoints add ${LONG_URL} --events order.*,checkout_session.succeeded,checkout_session.expired`,
  "endpoints add http://localhost:3001/hooks",
  "endpoints disable http://localhost:3001/hooks",
  "stores create --name The-tea-shop-at-the-corner-of-the-market-with-a-very-long-name",
  "tokens create --role viewer --valid 90d",
  "keys create --scopes orders:write,checkout_sessions:write,checkout_sessions:read",
  `prices add a-price-of-the-catalog-with-a-long-name-and-more --amount-minor 9007199254740991 --currency EUR --payment-method alipay_plus --description ${"long-".repeat(20)}`,
  `admin disable-capability wechat_pay --note ${"because-".repeat(30)}`,
  "sandbox clock freeze",
  `orders create --order-id ${LONG_ORDER} --amount-minor 9007199254740991 --currency EUR --payment-method alipay_plus`,
  "sessions create --order-id 漢字漢字漢字漢字 --price-id price_coffee",
];
/** Every command that prints a table; ORDER, EVENT and REQUEST stand for ids. */
const COMMANDS: readonly string[] = [
  "orders list",
  "orders get ORDER",
  "sandbox pay ORDER --outcome succeeded",
  "sandbox clock advance 1m",
  "sandbox clock advance 2h",
  "sessions list",
  "events list",
  "events get EVENT",
  "deliveries list",
  "requests list",
  "explain REQUEST",
  "endpoints list",
  "faults add drop --times 3 --event order.succeeded --order-id order-of-the-shop-with* --probability 0.5 --seed a-long-seed-of-a-suite",
  "faults list",
  "trigger checkout_session.succeeded",
  "trigger webhook.test",
  "admin log",
  "idempotency list",
  "prices list",
  "capabilities list",
  "stores list",
  "stores show",
  "keys list",
  "tokens list",
  "whoami",
  "checklist run webhooks",
  'explore --only [{"action":"lose_answer"}] -- client',
  "snapshots list",
];
/** Commands that run last, so that the ids in the other tables do not depend on them. */
const SNAPSHOTS = ["create a-snapshot-of-the-tea-shop-at-the-corner-of-the-market", "create base --all"];

/** A shop with a long value in every field. */
async function openLongShop() {
  const site = await openWebhookSite();
  const down = { status: 500, headers: {}, body: "" };
  site.harness.occupy(3000, { answer: () => Promise.resolve(down), refuse: () => down });
  const type = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await site.harness.run(line.split(" "));
    if (code > 1) throw new Error(`${line}: ${stderr}`);
    return stdout;
  };
  const newest = async (list: string): Promise<string> =>
    /"(?:event_|request_)?id":"([^"]+)"/.exec(await type(`${list} --json`))?.[1] ?? "?";
  installClient(site.harness, longKeysClient);
  for (const line of SETUP) {
    if (line.startsWith("endpoints disable")) {
      const { endpoints } = JSON.parse(await type("endpoints list --json")) as {
        endpoints: { id: string }[];
      };
      await type(`endpoints disable ${endpoints[1]?.id.slice(-8)}`);
    } else await type(line);
  }
  // The order's key with another body leads to a refusal with differences.
  const body = { order_id: LONG_ORDER, price_id: "price_coffee", description: "other ".repeat(20) };
  const keys = JSON.parse(await type("idempotency list --json")) as { order_id: string; key: string }[];
  const { key = "" } = keys.find(({ order_id: orderId }) => orderId === LONG_ORDER) ?? {};
  await site.sandbox().request({
    path: "/v1/orders",
    headers: { "Idempotency-Key": key },
    body: JSON.stringify(body),
  });
  return {
    type,
    ids: {
      ORDER: await newest("orders list"),
      REQUEST: await newest("requests list --status 409"),
      EVENT: await newest("events list"),
    },
  };
}

/** The lines of a text that belong to tables. */
function tableLines(text: string): string[] {
  let inside = false;
  return text.split("\n").filter((line) => {
    inside = line !== "" && (inside || HEADER.test(line));
    return inside && !line.startsWith("  →");
  });
}

test("every table fits 80 columns with the longest values", async () => {
  const { type, ids } = await openLongShop();
  const shown: string[] = [];
  for (const command of COMMANDS) {
    const line = Object.entries(ids).reduce((text, [name, id]) => text.replace(name, id), command);
    if (command === "snapshots list") for (const one of SNAPSHOTS) await type(`snapshots ${one}`);
    const lines = tableLines(await type(line));
    expect([command, lines.length > 1]).toEqual([command, true]);
    for (const one of lines) expect([command, one, stringWidth(one) <= 80]).toEqual([command, one, true]);
    shown.push(`$ checkout ${command}`, ...lines, "");
  }
  await expect(shown.join("\n")).toMatchFileSnapshot("tables.golden.txt");
});

/** Matches a table's list of columns in the sources, but not its lists `drop` and `keep`. */
const COLUMNS =
  /(?<!(?:drop|keep): )\[\s*("[A-Z][A-Z ()-]*"(?:,\s*(?:"[A-Z][A-Z ()-]*"|\.\.\.[^,\n]+)){2,}),?\s*\]/g;

test("tables.golden.txt has every table of src/cli", () => {
  const cli = join(import.meta.dirname, "../../src/cli");
  const golden = readFileSync(join(import.meta.dirname, "tables.golden.txt"), "utf8").split("\n");
  const shown = golden.filter((line) => HEADER.test(line)).map((line) => line.trim().split(/ {2,}/));
  const tables = globSync("**/*.ts", { cwd: cli }).flatMap((file) =>
    Array.from(readFileSync(join(cli, file), "utf8").matchAll(COLUMNS), ([, list = ""]) => ({
      file,
      names: Array.from(list.matchAll(/"([^"]+)"/g), ([, name = ""]) => name),
    })),
  );
  expect(tables.length).toBeGreaterThan(15);
  // A narrow table drops or cuts columns. A table of deliveries has up to two columns that `COLUMNS` does not find.
  const isShown = ({ file, names }: { readonly file: string; readonly names: readonly string[] }): boolean =>
    shown.some((columns) => {
      const isKnown = (column: string): boolean =>
        names.some((name) => name.startsWith(column.replace("…", "")));
      const others = columns.filter((column) => !isKnown(column)).length;
      const isOfDeliveries = file.startsWith("webhook/");
      return others === 0 || (isOfDeliveries && others < 3 && columns.length - others > 2);
    });
  const missing = tables.filter((one) => !isShown(one)).map(({ file }) => file);
  expect(missing).toEqual([]);
});
