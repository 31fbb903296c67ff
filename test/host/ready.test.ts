import { Writable } from "node:stream";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Service, World } from "../../src/world.ts";
import { createHarness, type CommandOptions } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";

const HEALTH = {
  method: "GET",
  target: "/healthz",
  rawHeaders: ["Host", "127.0.0.1:4242"],
  body: Buffer.of(),
};

/** Records the steps of a start in `seen`; the health is checked as soon as the sandbox listens. */
function watched(): { readonly seen: unknown[]; readonly world: Partial<World> } {
  const seen: unknown[] = [];
  const { promise: healthCheck, resolve } = Promise.withResolvers<void>();
  const ask = async ({ answer }: Service): Promise<void> => {
    seen.push((await answer(HEALTH)).status);
    resolve();
  };
  const listen: World["listen"] = (makeService) => {
    void ask(makeService(4242, "127.0.0.1"));
    return Promise.resolve({ ok: true, value: { port: 4242, close: () => Promise.resolve() } });
  };
  const stdout = new Writable({
    write: (line: Buffer, _encoding, done) => {
      seen.push(line.toString().includes("127.0.0.1:4242") ? "ready line" : line.toString());
      done();
    },
  });
  const onStop: World["onStop"] = (stop) => {
    void healthCheck.then(() => stop("SIGTERM"));
    return () => undefined;
  };
  return { seen, world: { listen, stdout, onStop } };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test("the health check reports ready only after the ready line", async () => {
  for (const args of [[], ["--json"]]) {
    const { seen, world } = watched();
    await createHarness().run(["sandbox", "start", ...args], { world });
    expect([args, seen]).toEqual([args, ["ready line", 200]]);
  }
});

test("the health check of a detached sandbox waits until its starter has printed the ready line", async () => {
  const { seen, world } = watched();
  const { promise: isReleased, resolve: release } = Promise.withResolvers<boolean>();
  const { promise: isTold, resolve: told } = Promise.withResolvers<void>();
  const starter: CommandOptions["starter"] = {
    logFile: "sandbox.log",
    notify: () => {
      seen.push("told");
      told();
      return isReleased;
    },
  };
  const ended = createHarness().run(["sandbox", "start", "--json"], { starter, world });
  await Promise.race([isTold, ended]);
  await turns();
  expect(seen).toEqual(["told"]);
  release(true);
  expect((await ended).code).toBe(0);
  expect(seen).toEqual(["told", 200]);
});

test("only a start in a subfolder says that it uses the state folder of a parent", async () => {
  const harness = createHarness();
  const cwd = join(harness.cwd, "shop");
  mkdirSync(join(cwd, "own"), { recursive: true });
  const said = async (args: readonly string[], options: CommandOptions): Promise<string> => {
    const running = await harness.launch(["sandbox", "start", ...args], options);
    return (await running.stop()).stderr;
  };
  const NOTE = inOrder(join(harness.cwd, ".checkout"), "--dir .checkout");
  expect(await said([], {})).not.toMatch(NOTE);
  for (const args of [[], ["--reuse"], ["--detach"]]) expect(await said(args, { cwd })).toMatch(NOTE);
  await harness.run(["sandbox", "stop"]);
  for (const args of [["--ephemeral"], ["--json"], ["--dir", "own/.checkout"]])
    expect(await said(args, { cwd })).not.toMatch(NOTE);
  expect(await said([], { cwd, env: { CHECKOUT_DIR: "own/.checkout" } })).not.toMatch(NOTE);
});
