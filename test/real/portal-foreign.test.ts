import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { PAGES_AREA } from "../../src/sandbox/pages/payment/routes.ts";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { part, SEED } from "../support/campaign.ts";
import { signInAdministrator } from "../support/portal-browser.ts";
import { wirePath } from "../support/portal-sign-in.ts";
import { runHere, startSandboxHere } from "../support/program.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { OTHER_HOST, sharedBrowser } from "../support/shop.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A host name of the attacker that the browser's resolver now resolves to this machine. */
const REBOUND = OTHER_HOST;
/** A page without any word of our own pages, so that stolen content can be recognized. */
const EMPTY_PAGE = "<!doctype html><title>elsewhere</title>";

/**
 * Number of parts per origin into which the pages and the forms are divided; outside a campaign, each origin attacks
 * one part.
 */
const PAGE_PARTS = 4;
const FORM_PARTS = 12;

/** A request that an attacker's page attempts. */
type Attempt = { readonly url: string; readonly isForm: boolean; readonly body: string };

test(`a page of another site reads and changes nothing in the sandbox, whatever it sends to any route (seed ${SEED})`, async () => {
  const site = await openSite();
  const { page: own, attempts, origins, stored, readPreferences, home } = site;
  expect(attempts.length).toBeGreaterThan(25);
  const [before, chosen] = [stored(), await readPreferences()];
  // Outside a campaign each origin attacks the part of the routes that the seed selects.
  for (const [place, origin] of origins.entries()) {
    const page = await own.context().newPage();
    await page.goto(origin);
    const attacked = [true, false].flatMap((isForm) =>
      part(
        attempts.filter((one) => one.isForm === isForm),
        (isForm ? FORM_PARTS : PAGE_PARTS) * origins.length,
        place,
      ),
    );
    expect(new Set(attacked.map(({ isForm }) => isForm)).size).toBe(2);
    expect([origin, await attack(page, attacked)]).toEqual([origin, []]);
    await page.close();
  }
  // In the other direction, a script on the portal cannot act on payers' pages.
  await own.goto(home);
  expect(await attack(own, site.payersAttempts)).toEqual([]);
  expect(changedTables(before, stored())).toEqual([]);
  expect(await readPreferences()).toEqual(chosen);
  // The same request works from the portal's own page.
  await own.goto(`${home}/clock`);
  await own.click("form.act:has([name=action][value=freeze]) button");
  await own.waitForLoadState();
  expect(changedTables(before, stored())).toContain("stores");
});

/** A sandbox, a browser that is signed in to it in both roles, and an attacker's server. */
async function openSite() {
  const cwd = tempFolder();
  const [sandbox, browser] = await Promise.all([startSandboxHere({ cwd }), sharedBrowser()]);
  const { ready, port } = sandbox;
  const made = await runHere(
    ["orders", "create", "--json", "--order-id", "order-1", "--price-id", "price_coffee"],
    { cwd },
  );
  const { data: order } = JSON.parse(made.stdout) as { readonly data: { readonly id: string } };
  // The attacker's page has no policy that could forbid an attempt.
  const context = await browser.newContext({ bypassCSP: true, locale: "en" });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(ready.sign_in_url ?? "");
  await page.waitForURL(/\/(connect|overview)$/);
  const home = `${ready.portal_url ?? ""}/${ready.store_id}`;
  const formToken = await page.getAttribute("[name=token]", "value");
  await signInAdministrator(context, sandbox);

  const values: Readonly<Record<string, string>> = {
    store_id: ready.store_id,
    id: order.id,
    checkout_id: order.id,
    attempt: "1",
  };
  const addressOf = (path: string): string =>
    path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? order.id);
  // Even a stolen token of the forms does not help the attacker.
  const body = new URLSearchParams({
    token: formToken ?? "",
    action: "freeze",
    outcome: "succeeded",
    language: "zh",
    keys: "off",
  }).toString();
  const attemptsAt = (
    names: readonly string[],
    routes: typeof PORTAL_AREA.routes | typeof PAGES_AREA.routes,
  ): Attempt[] =>
    names.flatMap((name) =>
      routes.map(({ methods, path }) => ({
        // The attacker knows even the path of the portal.
        url: `http://${name}:${port}${wirePath(sandbox, addressOf(path))}`,
        isForm: methods.includes("POST"),
        body,
      })),
    );
  const elsewhere = await serveEmptyPages();
  return {
    page,
    home,
    attempts: [
      ...attemptsAt(["localhost"], PORTAL_AREA.routes),
      ...attemptsAt(
        ["127.0.0.1", REBOUND],
        PORTAL_AREA.routes.filter(({ methods }) => methods.includes("POST")),
      ),
    ],
    payersAttempts: attemptsAt(["127.0.0.1"], PAGES_AREA.routes),
    origins: [
      `http://localhost:${elsewhere}/`,
      `http://127.0.0.1:${elsewhere}/`,
      `http://${REBOUND}:${elsewhere}/`,
      // A document without an origin, whose requests have `Origin: null`.
      `http://localhost:${elsewhere}/sandboxed`,
      // The origin of payers' pages, and the sandbox under a foreign name.
      `http://127.0.0.1:${port}/`,
      `http://${REBOUND}:${port}/portal`,
    ],
    stored: () => allRows(join(cwd, ".checkout", "sandbox.db")),
    /** The preferences of this browser, which are in no database. */
    readPreferences: async () => {
      const looked = await context.newPage();
      const status = (await looked.goto(`${home}/clock`))?.status();
      const told = [
        status,
        await looked.getAttribute("html", "lang"),
        await looked.getAttribute("body", "data-keys"),
      ];
      await looked.close();
      return told;
    },
  };
}

/** Patterns of the refusals of a foreign host name, as text and as a page. */
const REFUSALS = [
  "host_not_allowed",
  refusalText("portal_elsewhere").source,
  refusalText("portal_wrong_host").source,
];
const ATTACKER = join(import.meta.dirname, "../support/foreign-page.js");

/**
 * Makes the page send each attempt in several ways; returns the answers that the page could read or load, and attempts
 * that did not end.
 */
async function attack(page: Page, attempts: readonly Attempt[]): Promise<unknown> {
  await page.addScriptTag({ path: ATTACKER });
  return page.evaluate(`attack(${JSON.stringify(attempts)}, ${JSON.stringify(REFUSALS)})`);
}

/** Starts another user's server on this machine; one of its pages has no origin. */
async function serveEmptyPages(): Promise<number> {
  const server = createServer((request, response) => {
    const sandboxed = request.url === "/sandboxed";
    response.writeHead(200, {
      "Content-Type": "text/html",
      ...(sandboxed ? { "Content-Security-Policy": "sandbox allow-scripts allow-forms allow-popups" } : {}),
    });
    response.end(EMPTY_PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

type Tables = ReadonlyMap<string, string>;

/** The whole content of a database: the rows of each table, as text. */
function allRows(path: string): Tables {
  const database = new Database(path, { readonly: true });
  try {
    const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    const rowsOf = (name: unknown) =>
      database
        .prepare(`SELECT * FROM "${String(name)}"`)
        .raw()
        .all();
    return new Map(names.map((name) => [String(name), JSON.stringify(rowsOf(name))]));
  } finally {
    database.close();
  }
}

function changedTables(before: Tables, after: Tables): string[] {
  return [...after.keys()].filter((name) => after.get(name) !== before.get(name));
}
