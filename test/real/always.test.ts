import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { storageFailure } from "../../src/store/connection/storage-failure.ts";
import { EDITIONS, serve, type Edition, type RunningEdition } from "../support/editions.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf } from "../support/portal-sign-in.ts";
import { openHttpReceiver, readBody } from "../support/http-receiver.ts";
import { digestsOf, putFolder } from "../support/hosted-folder.ts";
import { inOrder } from "../support/in-order.ts";
import { launch, PROGRAM } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");

type Rule = {
  /** The first words of the rule in ARCHITECTURE.md. */
  readonly rule: string;
  readonly check: (edition: Edition, annotate: (text: string) => Promise<unknown>) => Promise<void>;
};

type RunningServiceRule = Pick<Rule, "rule"> & { readonly check: (served: RunningEdition) => Promise<void> };

/** Options of `unshare` for a process with its own mounts and the rights of root. */
const MOUNTS = ["--user", "--map-root-user", "--mount"];

let orders = 0;

/** Creates an order; returns its id. */
async function createOrder({ request }: RunningEdition, description?: string): Promise<string> {
  orders += 1;
  const body = { order_id: `order-${orders}`, price_id: "price_coffee", ...(description && { description }) };
  const headers = { "Idempotency-Key": `always-key-${orders}` };
  const answer = await request("/v1/orders", { headers, body });
  expect([answer.status, answer.body]).toEqual([201, expect.stringContaining('"id"')]);
  return (JSON.parse(answer.body) as { readonly data: { readonly id: string } }).data.id;
}

/** Signs in by a link to the portal, as a browser does; returns the sign-in code, or {} without a portal (hosted). */
async function signInByLink({ control, ready }: RunningEdition): Promise<{ readonly sign_in_code?: string }> {
  const link = await control.attempt("createSignIn", { body: {} });
  expect([link.end, ready.portal_url === null]).toEqual([link.end, link.end !== "success"]);
  if (link.end !== "success") return {};
  const url = link.value.signInUrl;
  expect((await fetch(url)).status).toBe(200);
  const body = new URLSearchParams({ code: codeOf(url) });
  const headers = { Origin: new URL(url).origin, "Sec-Fetch-Site": "same-origin" };
  const answer = await fetch(url, { method: "POST", body, headers, redirect: "manual" });
  expect(answer.status).toBe(303);
  return { sign_in_code: codeOf(url) };
}

/** Paths of requests that must change nothing, and must be refused with a foreign Host. */
const PATHS = ["/", "/v1/orders", "/pay/x", "/__sandbox/stores", "/assets/x", "/x"] as const;

/** Rules of "What always holds" about a running service; one service of each edition is tested for all of them. */
const RUNNING_SERVICE_RULES: readonly RunningServiceRule[] = [
  {
    rule: "Every change of a status has its row in `events`",
    check: async (served) => {
      const id = await createOrder(served);
      await served.control.call("pay", { id, body: { outcome: "succeeded" } });
      const types = served.rows(`SELECT type FROM events WHERE checkout_id = '${id}' ORDER BY rowid`);
      expect(types.map(({ type }) => type)).toEqual(["order.created", "order.pending", "order.succeeded"]);
    },
  },
  {
    rule: "No query crosses stores",
    check: async (served) => {
      const id = await createOrder(served);
      const other = await served.control.call("createStore", { body: {} });
      const headers = { Authorization: `Bearer ${other.apiKey}` };
      const [foreign, unknown] = [id, id.replace(/.{12}$/, "0123456789ab")];
      const answers = await Promise.all(
        [foreign, unknown].map((one) => served.request(`/v1/checkout-sessions/${one}`, { headers })),
      );
      expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    },
  },
  {
    rule: "Every request passes the guard before its route is looked up",
    check: async (served) => {
      await createOrder(served);
      const changes =
        "SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM checkouts) AS checkouts";
      const before = served.rows(changes);
      for (const path of PATHS) {
        const foreign = await served.request(path, { headers: { Host: "foreign.example" } });
        const own = await served.request(path);
        expect([path, foreign.status]).toEqual([path, 403]);
        for (const { headers } of [foreign, own])
          expect(Object.keys(headers).filter((name) => /^access-control-/i.test(name))).toEqual([]);
      }
      expect(served.rows(changes)).toEqual(before);
    },
  },
  {
    rule: "Nothing is sent to an address that nobody named",
    check: async ({ control }) => {
      for (const host of ["169.254.169.254", "100.100.100.200", "0.0.0.0", "10.0.0.1", "[64:ff9b::1]"])
        expect(await control.attempt("addEndpoint", { body: { url: `http://${host}/` } })).toMatchObject({
          end: "refusal",
          status: 400,
        });
    },
  },
  {
    rule: "Every string is escaped before it becomes markup",
    check: async (served) => {
      const id = await createOrder(served, "<script>alert(1)</script>");
      const page = await served.request(`/pay/${id}`, { headers: { Accept: "text/html" } });
      expect(page.status).toBe(200);
      expect(page.body).toContain("&lt;script&gt;");
      expect(page.body).not.toMatch(/<script>|<style|\son\w+=/);
      const policy = Object.entries(page.headers).find(([name]) => /^content-security-policy$/i.test(name));
      expect(String(policy?.[1])).toMatch(/frame-ancestors 'none'/);
      expect(String(policy?.[1])).not.toContain("unsafe");
    },
  },
  {
    rule: "A store that is being erased has no clock",
    check: async (served) => {
      const { storeId, apiKey } = await served.control.call("createStore", { body: {} });
      const headers = { Authorization: `Bearer ${apiKey}` };
      const retrieve = `/v1/checkout-sessions/${storeId}`;
      expect((await served.request(retrieve, { headers })).status).toBe(404);
      const deleted = await served.request(`/__sandbox/stores/${storeId}/delete`, {
        headers: { Authorization: `Bearer ${served.ready.control_token}` },
        body: {},
      });
      expect([deleted.status, (await served.request(retrieve, { headers })).status]).toEqual([200, 401]);
    },
  },
  {
    rule: "The effect of a drill on the sandbox ends",
    check: async (served) => {
      await served.control.call("addEndpoint", { body: { url: "http://127.0.0.1:9/hooks" } });
      const connection = new AbortController();
      const { control_token: token, store_id: storeId, base_url: url } = served.ready;
      const held = await fetch(`${new URL(url).origin}/__sandbox/stores/${storeId}/leases`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ drill: "duplicates", timeout_ms: 600_000 }),
        signal: connection.signal,
      });
      const stateOf = async () => {
        const { endpoints } = await served.control.call("listEndpoints", {});
        return endpoints.map(({ state, pausedBy }) => [state, pausedBy]);
      };
      expect([held.status, await stateOf()]).toEqual([200, [["paused", "drill"]]]);
      connection.abort();
      await eventually("the endpoint is enabled", async () =>
        expect(await stateOf()).toEqual([["enabled", null]]),
      );
    },
  },
];

/** Other rules of "What always holds" about a service; each is tested on its own service of each edition. */
const RULES: readonly Rule[] = [
  {
    rule: "An answer leaves after its commit has returned from the disk",
    check: async (edition) => {
      const served = await serve(edition);
      const ids = [await createOrder(served), await createOrder(served)];
      await served.stop("SIGKILL");
      const again = await serve(edition, served.folder);
      for (const id of ids) expect((await again.request(`/v1/checkout-sessions/${id}`)).status).toBe(200);
    },
  },
  {
    rule: "Work that matters is a row in the database. Nothing depends on a promise, an emitter or a timer alone",
    check: async (edition) => {
      let status = 500;
      const seen: number[] = [];
      const url = await openHttpReceiver((_request, response) => {
        seen.push(status);
        response.writeHead(status).end();
      });
      const served = await serve(edition);
      await served.control.call("addEndpoint", { body: { url } });
      await createOrder(served);
      await eventually("a delivery failed", () => expect(seen).toContain(500));
      await served.stop("SIGKILL");
      status = 200;
      await serve(edition, served.folder);
      // The test sends no request, so only the stored row can cause the delivery.
      await eventually("it is delivered after the start", () => expect(seen).toContain(200));
    },
  },
  {
    rule: "No database, log, command line or error contains an API key",
    check: async (edition) => {
      const served = await serve(edition);
      const id = await createOrder(served);
      const { ready, request } = served;
      const { api_key, control_token, signing_secret } = ready;
      const canaries = { api_key, control_token, signing_secret, ...(await signInByLink(served)) };
      const secrets = Object.entries(canaries).map(([name, secret]) => [name, String(secret)] as const);
      for (const [name, secret] of secrets.filter(([one]) => one !== "sign_in_code")) {
        for (const path of [`/v1/orders?key=${secret}`, `/v1/${secret}`, `/pay/${secret}`, `/${secret}`])
          expect([name, path, (await request(path)).status < 500]).toEqual([name, path, true]);
        for (const header of ["Host", "User-Agent", "Referer", "Cookie", "Idempotency-Key", "X-Note"])
          await request(`/v1/checkout-sessions/${id}`, { headers: { [header]: secret } });
        const url = `http://127.0.0.1:9/hooks?key=${secret}`;
        const typed = [
          [`/stores/${ready.store_id}/endpoints`, { url }] as const,
          ["/stores", { name: secret }] as const,
        ];
        for (const [path, body] of typed) {
          const headers = { Authorization: `Bearer ${control_token}` };
          const { status } = await request(`/__sandbox${path}`, { headers, body });
          expect([name, path, status]).toEqual([name, path, 400]);
        }
        const body = { order_id: "order-secret", price_id: "price_coffee", description: `note: ${secret}` };
        const headers = { "Idempotency-Key": `always-${name}` };
        expect([name, (await request("/v1/orders", { headers, body })).status]).toEqual([name, 400]);
      }
      await served.stop("SIGTERM");
      const files = (readdirSync(served.folder, { recursive: true }) as string[]).filter(
        (name) => !/^(?:credentials|run)\.json$/.test(name) && statSync(join(served.folder, name)).isFile(),
      );
      expect(files.length).toBeGreaterThan(3);
      for (const [name, secret] of secrets) {
        for (const file of files) {
          const text = readFileSync(join(served.folder, file), "latin1");
          expect([file, name, text.includes(secret)]).toEqual([file, name, false]);
        }
        expect([name, served.output.stderr.includes(secret)]).toEqual([name, false]);
      }
    },
  },
  {
    rule: "Audit rows never change",
    check: async (edition) => {
      const served = await serve(edition);
      await createOrder(served);
      await served.stop("SIGTERM");
      const rows = new Database(edition.databaseOf(served.folder, served.ready.store_id));
      const isRefused = expect.objectContaining({ code: "SQLITE_CONSTRAINT_TRIGGER" }) as Error;
      expect(() => rows.exec("UPDATE events SET type = 'order.paid'")).toThrow(isRefused);
      expect(() => rows.exec("DELETE FROM events")).toThrow(isRefused);
      rows.close();
    },
  },
  {
    rule: "No command reads a state folder that it has not checked",
    check: async (edition) => {
      const served = await serve(edition);
      await served.stop("SIGTERM");
      const copy = join(tempFolder(), ".checkout");
      putFolder(served.folder, copy);
      const held = await serve(edition, copy);
      await eventually("the copy is held", () => expect(held.output.stderr).toMatch(/--adopt\b/));
      await held.stop("SIGKILL");
      chmodSync(join(copy, "credentials.json"), 0o644);
      const open = edition.begin(copy);
      expect([await open.ended, open.output.stderr]).toEqual([
        1,
        expect.stringMatching(/"state_folder_refused".*credentials\.json/),
      ]);
      const linked = join(tempFolder(), ".checkout");
      symlinkSync(served.folder, linked);
      const link = edition.begin(linked);
      expect([await link.ended, link.output.stderr]).toEqual([
        1,
        expect.stringMatching(inOrder('"state_folder_refused"', linked)),
      ]);
    },
  },
  {
    rule: "A file gets its name when it is complete and on disk",
    check: async (edition) => {
      const served = await serve(edition);
      await served.stop("SIGKILL");
      expect(Object.keys(digestsOf(served.folder)).filter((name) => name.includes(".new-"))).toEqual([]);
      const again = await serve(edition, served.folder);
      expect(again.ready).toMatchObject({ store_id: served.ready.store_id, api_key: served.ready.api_key });
    },
  },
  {
    rule: "A failing disk is reported with its cause",
    check: async (edition, annotate) => {
      if (!CAN_MOUNT) return void (await annotate("not tried: unshare mounts no disks here"));
      const expectDiskFull = (text: string): void => {
        expect(text).toContain(storageFailure("disk_full").sentence);
        expect(text).not.toMatch(/\n\s+at /);
      };
      const disk = tempFolder();
      const folder = join(disk, ".checkout");
      for (const size of edition.tooSmall) {
        const refused = edition.begin(folder, [], withDisk(disk, size));
        await eventually(`a start on a disk of ${size} is refused`, () =>
          expect(refused.process.exitCode).toBe(1),
        );
        await refused.ended;
        expectDiskFull(refused.output.stderr);
        expect(refused.output.stderr).toMatch(/"code":"(?:disk_full|storage_unavailable)"/);
      }
      const served = await serve(edition, folder, withDisk(disk, "4m"));
      const create = (at: number) =>
        served.request("/v1/orders", {
          headers: { "Idempotency-Key": `full-disk-${at}` },
          body: { order_id: `full-${at}`, price_id: "price_coffee", description: "x".repeat(128) },
        });
      let [created, answer] = [0, await create(0)];
      while (answer.status === 201) answer = await create((created += 1));
      expect([created > 0, answer.status, answer.body]).toEqual([
        true,
        503,
        expect.stringContaining('"storage_unavailable"'),
      ]);
      expectDiskFull(answer.body);
      const health = await served.request("/healthz");
      expect(health.status).toBe(503);
      expectDiskFull(health.body);
    },
  },
  {
    rule: "`listen` forwards only events that it has verified",
    check: async (edition) => {
      const forwarded: string[] = [];
      const url = await openHttpReceiver((request, response) => {
        void readBody(request).then((body) => {
          forwarded.push((JSON.parse(String(body)) as { readonly event_id: string }).event_id);
          response.end();
        });
      });
      const served = await serve(edition);
      const args = ["listen", "--json", "--forward", url, "--dir", served.folder];
      const { output } = await launch(args, { cwd: tempFolder() });
      await served.control.call("addFault", { body: { action: "bad_signature", times: 1 } });
      await createOrder(served);
      await eventually("a delivery was not verified", () =>
        expect(output.stdout).toContain('"verified":false'),
      );
      expect(forwarded).toEqual([]);
      await createOrder(served);
      const events = await served.control.call("listEvents", { body: {} });
      await eventually("the other event is forwarded", () =>
        expect(forwarded).toEqual([events.events.at(-1)?.eventId]),
      );
    },
  },
];

/** Whether this machine lets a test mount a disk without root's rights. */
const CAN_MOUNT = spawnSync("unshare", [...MOUNTS, "mount", "-t", "tmpfs", "tmpfs", "/tmp"]).status === 0;

/** Launch options that mount a disk of the given size on a folder, and then run the program. */
function withDisk(folder: string, size: string): { readonly command: readonly string[] } {
  const script = 'mount -t tmpfs -o "size=$0" tmpfs "$1"; shift; exec "$@"';
  return { command: ["unshare", ...MOUNTS, "sh", "-c", script, size, folder, process.execPath, PROGRAM] };
}

/** Rules that other files test, because they are not about both editions of the service. */
const OTHER_RULES: readonly string[] = [
  // A hosted service has no snapshots (docs/hosted.md).
  "A restore is one transaction",
  // A rule about the command line alone.
  "A user's command line runs only",
];

test("every invariant of ARCHITECTURE.md is tested here, or listed as tested in other files", () => {
  const text = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  const section = /## What always holds\n([\s\S]*?)\n## /.exec(text)?.[1] ?? "";
  const rules = section.split(/^\* /m).slice(1);
  const tried = [
    ...RUNNING_SERVICE_RULES.map(({ rule }) => rule),
    ...RULES.map(({ rule }) => rule),
    ...OTHER_RULES,
  ];
  expect(rules.filter((one) => !tried.some((rule) => one.startsWith(rule)))).toEqual([]);
  expect(tried.filter((rule) => !rules.some((one) => one.startsWith(rule)))).toEqual([]);
});

describe.each(EDITIONS)("with $name", (edition) => {
  test("a running service keeps the invariants of ARCHITECTURE.md", async () => {
    const served = await serve(edition);
    for (const { rule, check } of RUNNING_SERVICE_RULES)
      await expect(check(served), rule).resolves.toBeUndefined();
  });
  test.for(RULES)("invariant of ARCHITECTURE.md: $rule", async ({ check }, { annotate }) => {
    expect(await check(edition, annotate)).toBeUndefined();
  });
});
