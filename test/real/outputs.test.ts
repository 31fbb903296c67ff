import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { refuseLostReadyLine } from "../../src/cli/sandbox/ready.ts";
import { fileOutput } from "../../src/world/output.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness } from "../support/harness.ts";
import { PROGRAM, runHere, startSandboxHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A device that is always full; systems other than Linux have none. */
const FULL_DEVICE = "/dev/full";

type FinishedRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs the real program with one of its outputs on a full device. */
function spawnFull(full: "stdout" | "stderr", args: readonly string[], options: { readonly cwd: string }) {
  const device = openSync(FULL_DEVICE, "w");
  const [stdout, stderr] = full === "stdout" ? [device, "pipe" as const] : ["pipe" as const, device];
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    ...options,
    stdio: ["ignore", stdout, stderr],
  });
  closeSync(device);
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (text: Buffer) => (output.stdout += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (output.stderr += text.toString()));
  const ended = once(child, "close").then(([code]): FinishedRun => ({
    code: code as number | null,
    ...output,
  }));
  return { child, output, ended };
}

test("a command that cannot print its result exits with 1 and reports the cause", async ({ annotate }) => {
  if (!existsSync(FULL_DEVICE)) return void (await annotate(`there is no ${FULL_DEVICE} here`));
  const cwd = tempFolder();
  await startSandboxHere({ cwd });
  // All commands print their result in the same way, so a few different commands are enough.
  const rows = [
    ["--version"],
    ["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"],
    // The checklist is not ready, and would exit with 3 if it could print.
    ["checklist", "--json"],
  ];
  for (const args of rows) {
    const { code, stderr } = await spawnFull("stdout", args, { cwd }).ended;
    expect([args, code]).toEqual([args, 1]);
    expect(stderr).toMatch(/^✗ .*: ENOSPC/m);
    expect(stderr.split("\n").length, stderr).toBeLessThanOrEqual(3);
    expect(stderr).not.toMatch(/^\s+at /m);
  }
});

test("a start whose ready line cannot be printed ends, and leaves no sandbox behind", async ({
  annotate,
}) => {
  if (!existsSync(FULL_DEVICE)) return void (await annotate(`there is no ${FULL_DEVICE} here`));
  const { message } = refuseLostReadyLine().problem;
  for (const [how, said] of [
    [[], message],
    [["--detach", "--json"], '"code":"output_failed"'],
  ] as const) {
    const cwd = tempFolder();
    const { code, stderr } = await spawnFull("stdout", ["sandbox", "start", "--port", "0", ...how], { cwd })
      .ended;
    expect([how, code, stderr]).toEqual([how, 1, expect.stringContaining(said)]);
    expect(stderr).not.toMatch(/^\s+at /m);
    const left = existsSync(join(cwd, ".checkout")) ? readdirSync(join(cwd, ".checkout")) : [];
    expect([how, left.filter((name) => /^run\.json|-wal$|-shm$|\.new-/.test(name))]).toEqual([how, []]);
  }
});

test("every kind of start ends if its ready line cannot be printed", async () => {
  for (const how of [[], ["--detach"], ["--reuse"], ["--ephemeral"]]) {
    const harness = createHarness();
    const start = ["sandbox", "start", "--port", "4300", "--json", ...how];
    const { code, stderr } = await harness.run(start, { world: { isResultLost: () => true } });
    expect([how, code, stderr]).toEqual([how, 1, expect.stringContaining('"code":"output_failed"')]);
    expect([how, harness.programOn(4300)]).toEqual([how, undefined]);
  }
});

test("exec keeps its program's exit code, even if the program could not print", async ({ annotate }) => {
  if (!existsSync(FULL_DEVICE)) return void (await annotate(`there is no ${FULL_DEVICE} here`));
  const command = ["exec", "--", "sh", "-c", "echo x 2>/dev/null; exit 5"];
  expect((await spawnFull("stdout", command, { cwd: tempFolder() }).ended).code).toBe(5);
});

test("a sandbox log that cannot be written does not end the sandbox", async ({ annotate }) => {
  if (!existsSync(FULL_DEVICE)) return void (await annotate(`there is no ${FULL_DEVICE} here`));
  const cwd = tempFolder();
  const { child, output, ended } = spawnFull("stderr", ["sandbox", "start", "--port", "0", "--json"], {
    cwd,
  });
  await eventually("the sandbox is ready", async () => expect(output.stdout).toContain("\n"));
  const ready = JSON.parse(output.stdout) as { readonly base_url: string; readonly api_key: string };
  for (let index = 1; index <= 5; index += 1) {
    const { status } = await fetch(`${ready.base_url}/orders`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${ready.api_key}`,
        "Content-Type": "application/json",
        "Idempotency-Key": `order-${index}-attempt-1`,
      },
      body: JSON.stringify({ order_id: `order-${index}`, price_id: "price_coffee" }),
    });
    expect([index, status]).toEqual([index, 201]);
  }
  child.kill("SIGTERM");
  expect((await ended).code).toBe(0);
});

test("checkout listen continues if its output cannot be written, and reports the failure once", async ({
  annotate,
}) => {
  if (!existsSync(FULL_DEVICE)) return void (await annotate(`there is no ${FULL_DEVICE} here`));
  const cwd = tempFolder();
  const { ready } = await startSandboxHere({ cwd });
  const { child, output, ended } = spawnFull("stdout", ["listen", "--json"], { cwd });
  const env = { CHECKOUT_BASE_URL: ready.base_url, CHECKOUT_API_KEY: ready.api_key ?? "" };
  await eventually("the listener has tried to say that it is ready", async () =>
    expect(output.stderr).toContain("ENOSPC"),
  );
  for (const id of ["order-1", "order-2"]) {
    const create = ["orders", "create", "--order-id", id, "--price-id", "price_coffee"];
    expect((await runHere(create, { cwd, env })).code).toBe(0);
  }
  await eventually("both events were taken", async () => {
    const listed = await runHere(["deliveries", "list", "--json"], { cwd });
    const { deliveries } = JSON.parse(listed.stdout) as { deliveries: readonly { state: string }[] };
    expect(deliveries.map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
  });
  expect(output.stderr.match(/ENOSPC/g)).toHaveLength(1);
  child.kill("SIGTERM");
  expect((await ended).code).toBe(1);
});

test("log lines that cannot be written to a full disk are dropped and counted, and a truncated line is ended", () => {
  let room = 10;
  let written = "";
  const stream = fileOutput(
    (bytes) => {
      if (room === 0) throw new Error("ENOSPC: no space left on device");
      const taken = Math.min(room, bytes.length);
      room -= taken;
      written += Buffer.from(bytes.subarray(0, taken)).toString();
      return taken;
    },
    { lossNote: (lines) => `(${lines} lines dropped)\n` },
  );
  for (const text of ["12345678\n", "two\n", "three\nfour\n"]) stream.write(text);
  expect(written).toBe("12345678\nt");
  room = 1000;
  stream.write("five\n");
  stream.write("six\n");
  expect(written).toBe("12345678\nt\n(3 lines dropped)\nfive\nsix\n");
});
