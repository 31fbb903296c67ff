import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { generateSource } from "oazapfts";
import { expect, test } from "vitest";
import { createHarness, type RunningSandbox } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const STRICT = ["--strict", "--noUncheckedIndexedAccess", "--skipLibCheck"];
const MODULES = [
  "--module",
  "nodenext",
  "--allowImportingTsExtensions",
  "--target",
  "es2024",
  "--lib",
  "es2024,dom",
];

/** A merchant's program with both clients; it compiles only if the descriptions list the fields of the answers. */
const JOURNEY = `
import * as control from "./control.ts";
import * as v1 from "./v1.ts";

export async function journey(fetch: typeof globalThis.fetch, baseUrl: string, apiKey: string, controlToken: string) {
  Object.assign(v1.defaults, { fetch, baseUrl, headers: { Authorization: "Bearer " + apiKey } });
  Object.assign(control.defaults, { fetch, headers: { Authorization: "Bearer " + controlToken } });
  const order: v1.CreateCheckout = { order_id: "order-1", amount_minor: 1999, currency: "EUR", payment_method: "wechat_pay" };
  const created = await v1.createOrder("key-of-order-1", order);
  if (created.status !== 201) return created.data.error.code;
  const { id } = created.data.data;
  const before: "created" | "pending" | "succeeded" | "failed" | "cancelled" | "expired" = created.data.data.status;
  const paid = await control.pay("default", id, { outcome: "succeeded" });
  if (paid.status !== 200) return paid.data.error.code;
  const moves: control.StatusChange[] = paid.data.data.moves;
  const again = await control.pay("default", id, { outcome: "succeeded" });
  const refused: "state_conflict" | undefined = again.status === 409 ? again.data.error.code : undefined;
  const read = await v1.retrieveCheckoutSession(id);
  const listed = await control.listEvents("default", { checkoutId: id, since: 0 });
  const events: control.Event[] = listed.status === 200 ? listed.data.data.events : [];
  // @ts-expect-error: not an outcome of a payment
  await control.pay("default", id, { outcome: "paid" });
  return {
    before,
    moves: moves.map(({ from, to }) => from + " " + to),
    refused,
    after: read.status === 200 ? read.data.data.status : read.data.error.code,
    events: events.map(({ sequence, type }) => sequence + " " + type),
    at: control.defaults.baseUrl,
  };
}
`;

/** The `fetch` of generated clients, which leads to the sandbox in this process. */
function fetchFrom({ request, ready }: RunningSandbox): typeof fetch {
  return async (input, init) => {
    const sent = new Request(input, init);
    const { origin, pathname, search } = new URL(sent.url);
    if (origin !== ready.checkout_origin) throw new Error(`nothing is at ${origin}`);
    const body = await sent.text();
    const answer = await request({
      method: sent.method,
      path: `${pathname}${search}`,
      // The names are in title case, like the names of the harness's headers, which these headers replace.
      headers: Object.fromEntries([...sent.headers].map(([name, value]) => [titleCase(name), value])),
      ...(body === "" ? {} : { body }),
    });
    return new Response(String(answer.body), { status: answer.status, headers: answer.headers });
  };
}

function titleCase(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

test("clients generated from both OpenAPI documents compile and run", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const token = (JSON.parse(harness.readState("run.json")) as { control_token: string }).control_token;
  const described = await sandbox.request({
    path: "/__sandbox/openapi.json",
    headers: { Authorization: `Bearer ${token}` },
  });
  const project = tempFolder();
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"), "junction");
  const write = (name: string, text: string): void => writeFileSync(join(project, name), text);
  write("package.json", '{ "type": "module" }');
  write("openapi.json", String(described.body));
  write("control.ts", await generateSource(join(project, "openapi.json")));
  write("v1.ts", await generateSource(join(ROOT, "fixtures/openapi-v1.yaml")));
  write("journey.ts", JOURNEY);
  const check = [TSC, "--noEmit", "--types", "node", ...STRICT, ...MODULES, "journey.ts"];
  const [checked, bundled] = await Promise.all([
    promisify(execFile)(process.execPath, check, { cwd: project }).then(
      () => "",
      (error: { readonly stdout: string }) => error.stdout,
    ),
    build({
      entryPoints: [join(project, "journey.ts")],
      outfile: join(project, "journey.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
    }),
  ]);
  expect([checked, bundled.warnings]).toEqual(["", []]);
  const { journey } = (await import(pathToFileURL(join(project, "journey.mjs")).href)) as {
    journey: (...args: readonly [typeof fetch, string, string, string]) => Promise<unknown>;
  };
  const { base_url: baseUrl, api_key: apiKey } = sandbox.ready;
  expect(await journey(fetchFrom(sandbox), baseUrl, apiKey ?? "", token)).toEqual({
    before: "created",
    moves: ["created pending", "pending succeeded"],
    refused: "state_conflict",
    after: "succeeded",
    events: ["1 order.created", "2 order.pending", "3 order.succeeded"],
    at: sandbox.ready.checkout_origin,
  });
});
