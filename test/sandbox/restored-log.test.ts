import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";
import { english } from "../../src/core/language.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";

type Listed = { readonly requests: readonly { readonly request_id: string; readonly order_id: string }[] };

test("a restore keeps the request log, and explain says if the checkout of a request no longer exists", async () => {
  const harness = createHarness();
  await harness.start();
  const run = async (line: string) => (await harness.run(line.split(" "))).stdout;
  const create = (id: string) => run(`orders create --order-id ${id} --price-id price_coffee --json`);
  await create("order-1");
  await run("snapshots create before");
  await create("order-2");
  await run("orders create --order-id order-2 --price-id price_coffee --new-attempt");
  const requests = async () => (JSON.parse(await run("requests list --json")) as Listed).requests;
  const logged = await requests();
  expect(logged.map(({ order_id: orderId }) => orderId)).toEqual(["order-1", "order-2", "order-2"]);
  const gone = english(EXPLAIN_SENTENCES.checkoutGone);
  for (const { request_id: id } of logged) expect(await run(`explain ${id}`)).not.toContain(gone);
  for (const restore of ["snapshots restore before", "snapshots restore before --all"]) {
    await run(restore);
    expect(await requests()).toEqual(logged);
  }
  const said = await Promise.all(logged.map(({ request_id: id }) => run(`explain ${id}`)));
  expect(said.map((text) => text.includes(gone))).toEqual([false, true, true]);
  await run("sandbox reset --yes");
  expect(await requests()).toEqual([]);
});
