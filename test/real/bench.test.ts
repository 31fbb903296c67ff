import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { measureErasure } from "../bench/erasure.ts";
import { openFilled } from "../bench/lists.ts";
import { addDeliveries } from "../bench/portal.ts";
import { openBench } from "../bench/processes.ts";
import { measureStalls } from "../bench/stalls.ts";
import { measureSnapshots } from "../bench/snapshots.ts";
import { tempFolder } from "../support/temp-folder.ts";

// The benchmarks measure speed; these tests check only that they still run with the current tables.

test("the rows that the benchmarks of resets and snapshots insert fit the tables", async () => {
  let paths = 0;
  const newPath = (name: string): string => join(tempFolder(), `${(paths += 1)}-${name}`);
  const figures = await measureErasure({ newPath }, { orders: 2, ordersBeside: 1, rounds: 1 });
  expect(figures.map(({ name }) => name)).toEqual([
    "reset of 8 rows, on disk",
    "reset of 8 rows, on disk, beside 4",
    "reset of 8 rows, in memory",
    "reset of 8 rows, in memory, beside 4",
  ]);
  expect((await measureSnapshots()).map(({ value }) => value > 0)).toEqual([true, true]);
});

test("the stall benchmark covers every long operation", async () => {
  const bench = openBench();
  onTestFinished(bench.end);
  const figures = await measureStalls(bench, [{ checkouts: 3, expiring: 2, queued: 4 }]);
  expect(figures.filter(({ target }) => target !== undefined).map(({ name }) => name)).toEqual([
    "snapshot of 3 checkouts in memory",
    ...["nothing", "snapshot", "clock move past 2", "backlog of 4", "reset"].map(
      (act) => `${act} of 3 checkouts, longest wait`,
    ),
    "reset of 3 checkouts, whole",
  ]);
});

test("the rows that the benchmarks of lists and deliveries insert fit the tables, and the benchmark's minimal client sends every request", async () => {
  const bench = openBench();
  onTestFinished(bench.end);
  expect((await openFilled(bench, 3, addDeliveries)).ids).toHaveLength(3);

  let received = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      received += 1;
      response.writeHead(204).end();
    });
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const client = join(import.meta.dirname, "../bench/baselines/bare-post.ts");
  const args = [client, url, "5", "2", join(tempFolder(), "outbox.db")];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect([received, JSON.parse(stdout)]).toEqual([5, { perSecond: expect.any(Number) as number }]);
});
