import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { serveHttp } from "../../src/web/server/serve.ts";
import { REAL } from "../support/real.ts";

test("port 0 selects a port that is free at both loopback addresses, even if many ports are used at one of them", async () => {
  const used = Array.from({ length: 800 }, () => createServer().listen(0, "::1"));
  onTestFinished(() => used.forEach((server) => void server.close()));
  await Promise.all(used.map((server) => once(server, "listening")));
  const refused: unknown[] = [];
  for (let count = 0; count < 150; count += 1) {
    const served = await serveHttp(
      () => ({
        answer: () => Promise.reject(new Error("nothing is asked")),
        refuse: () => Promise.reject(new Error("nothing is refused")),
      }),
      { port: 0, after: REAL.after },
    );
    if (served.ok) await served.value.close(0);
    else refused.push(served.refusal);
  }
  expect(refused).toEqual([]);
});
