import { expect, test } from "vitest";
import { isPermitted, type MinRole } from "../../src/core/control/rights.ts";
import type { StoreRole } from "../../src/core/store/shapes.ts";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { codeOf, cookieIn, load, postForm } from "../support/portal-sign-in.ts";

const HOUR_MS = 3_600_000;

/**
 * A sandbox with two stores, each with an order, an endpoint, a fault and a snapshot; links are for the second store.
 */
async function openSite() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const run = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await harness.run(line.split(" "));
    expect([line, code, stderr.includes("error")]).toEqual([line, 0, false]);
    return stdout;
  };
  const bob = JSON.parse(await run("stores create --name Bob --json")) as Record<string, string>;
  const stores = [sandbox.ready.store_id, bob["store_id"] ?? ""] as const;
  for (const [at, store] of stores.entries()) {
    const key = at === 0 ? (sandbox.ready.api_key ?? "") : (bob["api_key"] ?? "");
    const made = await sandbox.request({
      path: "/v1/orders",
      headers: { Authorization: `Bearer ${key}`, "Idempotency-Key": "key-of-order-1" },
      body: JSON.stringify({ order_id: "order-1", price_id: "price_coffee" }),
    });
    expect(made.status).toBe(201);
    for (const line of [
      "endpoints add http://localhost:3000/hooks",
      "faults add drop --nth 1000",
      `snapshots create of-${store}`,
    ])
      await run(`${line} --store ${store}`);
  }
  await run("snapshots create of-all --all");
  await run(`sandbox pay order-1 --store ${stores[1]}`);
  const enter = async (role: StoreRole, more = "") => {
    const link = (await run(`open --print --store ${stores[1]} --role ${role}${more}`)).trim();
    const answer = await postForm(sandbox, "/portal/sign-in", { code: codeOf(link) });
    expect([role, answer.status]).toEqual([role, 303]);
    return { cookie: cookieIn(answer), link };
  };
  const keys = await run(`keys list --store ${stores[1]} --json`);
  return { harness, sandbox, run, stores, enter, secrets: { bob, keys } };
}

/** Follows the links between the pages of the portal that a session can see, up to a maximum number of pages. */
async function walk(look: (address: string) => Promise<{ status: number; html: string; leadsTo: string }>) {
  const seen = new Map<string, { status: number; html: string }>();
  const queue = ["/portal"];
  for (let address = queue.shift(); address !== undefined; address = queue.shift()) {
    if (seen.has(address) || seen.size > 300) continue;
    const { status, html, leadsTo } = await look(address);
    seen.set(address, { status, html });
    const links = [...html.matchAll(/<a [^>]*href="(\/portal[^"#]*)/g)].map(([, link = ""]) =>
      link.replaceAll("&amp;", "&"),
    );
    queue.push(...links, ...(leadsTo.startsWith("/portal") ? [leadsTo] : []));
  }
  return seen;
}

test("a session from a store's link sees only its own store, without dead links, refused forms or secrets", async () => {
  const { harness, sandbox, stores, enter, secrets } = await openSite();
  for (const role of ["viewer", "store"] as const) {
    const { cookie } = await enter(role);
    const seen = await walk(async (address) => {
      const { status, body, headers } = await load(sandbox, address, { Cookie: cookie });
      return { status, html: String(body), leadsTo: (headers["Location"] ?? "").split("#")[0] ?? "" };
    });
    const dead = [...seen].filter(([, { status }]) => status !== 200 && status !== 303);
    expect([role, dead.map(([address, { status }]) => [address, status])]).toEqual([role, []]);
    expect(seen.size).toBeGreaterThan(20);
    const whole = [...seen.values()].map(({ html }) => html).join("");
    const forms = [...whole.matchAll(/<form method="post" action="([^"]+)"/g)].map(
      ([, action = ""]) => action,
    );
    const own = forms.filter((action) => !/\/(preferences|sign-out)$/.test(action));
    expect([role, own.length > 0]).toEqual([role, role === "store"]);
    for (const action of new Set(forms)) {
      const { status } = await postForm(sandbox, action.replaceAll("&amp;", "&"), {}, { Cookie: cookie });
      // Sent without the session's token, so 403 means that the role, which is checked first, is permitted.
      const said = status === 403 ? "of no form" : status;
      expect([role, action, said]).toEqual([role, action, "of no form"]);
    }
    const other = [stores[0], "of-all", sandbox.ready.api_key ?? "", sandbox.ready.control_token];
    const hidden = [...other, harness.adminToken(), secrets.bob["api_key"], secrets.bob["signing_secret"]];
    expect([role, hidden.filter((secret) => whole.includes(secret ?? ""))]).toEqual([role, []]);
    const lastFour = /"last_four":"(\w+)"/.exec(secrets.keys)?.[1] ?? "";
    expect([role, whole.includes(`svc_test_…${lastFour}`)]).toEqual([role, role === "store"]);
  }
});

test("a viewer sees no secret of the sandbox in a receiver's answer, neither on a page nor through the API", async () => {
  const { harness, sandbox, run, stores, enter } = await openSite();
  const secrets = [harness.adminToken(), sandbox.ready.control_token, "svc_store_0123456789abcdefghij"];
  harness.occupy(3000, {
    answer: () => Promise.resolve({ status: 500, headers: {}, body: `of the shop: ${secrets.join(" ")}` }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  harness.clock.advance(3_600_000);
  const made = JSON.parse(await run(`tokens create --store ${stores[1]} --role viewer --json`)) as {
    readonly token: string;
  };
  const list = async (token: string): Promise<string> => {
    const headers = { Authorization: `Bearer ${token}` };
    const path = `/__sandbox/stores/${stores[1]}/deliveries`;
    return String((await sandbox.request({ path, headers })).body);
  };
  await eventually("the answer is kept", async () =>
    expect(await list(sandbox.ready.control_token)).toContain(harness.adminToken()),
  );
  const listed = await list(made.token);
  const { data } = JSON.parse(listed) as {
    readonly data: { readonly deliveries: readonly { readonly id: string }[] };
  };
  const id = data.deliveries.find((one) => JSON.stringify(one).includes("of the shop"))?.id ?? "";
  const { cookie } = await enter("viewer");
  const page = await load(sandbox, `/portal/${stores[1]}/webhooks/deliveries/${id}`, { Cookie: cookie });
  for (const text of [listed, String(page.body)]) {
    expect(/of the shop: \S+/.exec(text)?.[0]).toBe("of the shop: …");
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  }
});

test("a session is refused on every route that needs a higher role, and cannot find other stores on any route", async () => {
  const { sandbox, stores, enter } = await openSite();
  const [first, own] = stores;
  for (const role of ["viewer", "store"] as const) {
    const { cookie } = await enter(role);
    for (const { methods, path, minRole } of rows()) {
      for (const [at, store] of [first, own].entries()) {
        const address = path.replaceAll(/\{store_id\}/g, store).replaceAll(/\{\w+\}/g, own);
        const answer = methods.includes("POST")
          ? await postForm(sandbox, address, {}, { Cookie: cookie })
          : await load(sandbox, address, { Cookie: cookie });
        const isOther = at === 0 && path.includes("{store_id}");
        const expected =
          minRole === "administrator" ? 401 : !isPermitted(role, minRole) ? 403 : isOther ? 404 : undefined;
        if (expected !== undefined)
          expect([role, path, at, answer.status]).toEqual([role, path, at, expected]);
        expect([role, path, String(answer.body).includes(first) && !address.includes(first)]).toEqual([
          role,
          path,
          false,
        ]);
      }
    }
  }
  function rows() {
    return PORTAL_AREA.routes.flatMap((route) => {
      const { minRole } = route as { readonly minRole?: MinRole | null };
      return minRole === null || minRole === undefined ? [] : [{ ...route, minRole }];
    });
  }
});

test("a refused form of a store's session shows no other store, whichever store its fields name", async () => {
  const { sandbox, run, stores, enter } = await openSite();
  const [first, own] = stores;
  await run(`stores create --name Secret-Name`);
  const { cookie } = await enter("store");
  const page = await load(sandbox, `/portal/${own}/stores`, { Cookie: cookie });
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(String(page.body)) ?? [];
  const tries = [
    ["/portal/stores/reset", { store: first, name: "x" }],
    ["/portal/stores/reset", { store: own, name: "x", page_of: first }],
    [`/portal/${own}/snapshots`, { name: "../x", page_of: first }],
  ] as const;
  for (const [path, fields] of tries) {
    const { status, body } = await postForm(sandbox, path, { ...fields, token }, { Cookie: cookie });
    const shown = [sandbox.ready.store_name, `/portal/${first}`].filter((text) =>
      String(body).includes(text),
    );
    expect([fields, status, shown]).toEqual([fields, 404, []]);
  }
  for (const id of [first, "00000000-0000-7000-8000-0000000000aa"]) {
    const { headers } = await load(sandbox, `/portal/${id}`, { Cookie: cookie });
    expect(headers["Location"]).toBe(`/portal/${own}/find?q=${id}`);
  }
});

test("a store's link works once within 24 hours, and the link's session lasts as long as requested", async () => {
  const { harness, sandbox, run, stores, enter } = await openSite();
  const { cookie, link } = await enter("viewer", " --valid 48h");
  expect((await postForm(sandbox, "/portal/sign-in", { code: codeOf(link) })).status).toBe(401);
  const page = `/portal/${stores[1]}/overview`;
  const look = async (): Promise<number> => (await load(sandbox, page, { Cookie: cookie })).status;
  const late = (await run(`open --print --store ${stores[1]}`)).trim();
  harness.clock.advance(24 * HOUR_MS);
  expect(await look()).toBe(200);
  expect((await postForm(sandbox, "/portal/sign-in", { code: codeOf(late) })).status).toBe(401);
  harness.clock.advance(24 * HOUR_MS - 1);
  expect(await look()).toBe(200);
  harness.clock.advance(1);
  expect(await look()).toBe(401);
});

test("a link's session survives a restart of the sandbox, and ends when the link is revoked", async () => {
  const harness = createHarness();
  const first = await harness.start();
  const run = async (line: string): Promise<string> => (await harness.run(line.split(" "))).stdout;
  const { store_id: store } = first.ready;
  const link = (await run(`open --print --store ${store}`)).trim();
  const cookie = cookieIn(await postForm(first, "/portal/sign-in", { code: codeOf(link) }));
  const { port } = new URL(first.ready.base_url);
  await first.stop();
  const again = await harness.start(["--port", port]);
  const look = async (): Promise<number> =>
    (await load(again, `/portal/${store}/overview`, { Cookie: cookie })).status;
  expect(await look()).toBe(200);
  const { tokens } = JSON.parse(await run("tokens list --json")) as {
    readonly tokens: readonly {
      readonly token_id: string;
      readonly kind: string;
      readonly used_at: string;
    }[];
  };
  expect([tokens.map(({ kind }) => kind), tokens[0]?.used_at !== null]).toEqual([["link", "session"], true]);
  expect((await harness.run(["tokens", "revoke", tokens[0]?.token_id ?? ""])).code).toBe(0);
  expect(await look()).toBe(401);
});
