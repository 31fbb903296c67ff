import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { writeProject } from "../support/kit-projects.ts";

const WARNING = /^\(node:\d+\) Warning: .*\bawait sandbox\.close\(\).*\n/;

function runScript(script: string) {
  const cwd = writeProject({
    "script.mjs": `import { startSandbox } from "hosted-checkout/testing";\n${script}`,
  });
  const child = spawn(process.execPath, ["script.mjs"], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (text: Buffer) => (output.stdout += text.toString()));
  child.stderr.on("data", (text: Buffer) => (output.stderr += text.toString()));
  return { output, ended: once(child, "close").then(([code]: unknown[]) => code) };
}

const WORK = `
const { store } = sandbox;
const receiver = await store.receiver();
const order = await store.orders.create({ order_id: "order-1001", price_id: "price_coffee" });
await store.pay(order.id);
await receiver.waitFor("order.succeeded");
`;

test.for([
  ["a close", "const sandbox = await startSandbox(); await sandbox.close();"],
  ["work and a close", `const sandbox = await startSandbox();${WORK}await sandbox.close();`],
  [
    "a close of a sandbox without a socket",
    `const sandbox = await startSandbox({ port: null });${WORK}await sandbox.close();`,
  ],
  ["a late close", `const sandbox = await startSandbox(); setTimeout(() => void sandbox.close(), 300);`],
  [
    "a close when another program has ended",
    `import { exec } from "node:child_process";
    const sandbox = await startSandbox(); exec("sleep 0.3", () => void sandbox.close());`,
  ],
  ["twelve closes", "for (let at = 0; at < 12; at += 1) await (await startSandbox()).close();"],
  ["a failed start", "await startSandbox({ port: -1 }).catch(() => undefined);"],
] as const)("a script ends without a warning after %s", async ([, script]) => {
  const { output, ended } = runScript(script);
  expect([await ended, output]).toEqual([0, { stdout: "", stderr: "" }]);
});

test.for([
  ["without a socket", "await startSandbox({ port: null });"],
  [
    "without a socket, with an order that expires in an hour",
    `const { store } = await startSandbox({ port: null });
    await store.orders.create({ order_id: "order-1001", price_id: "price_coffee" });`,
  ],
] as const)("a script with an unclosed sandbox %s ends with a warning", async ([, script]) => {
  const { output, ended } = runScript(script);
  expect([await ended, output.stderr]).toEqual([0, expect.stringMatching(WARNING)]);
});

test.for([
  ["the script only starts the sandbox", ""],
  ["the script uses the sandbox", WORK],
  ["the script waits for an unresolved promise", "await new Promise(() => {});"],
  ["the script starts several sandboxes", "for (let at = 0; at < 12; at += 1) await startSandbox();"],
] as const)(
  "a script with an unclosed sandbox gets one warning, and the sandbox still answers: %s",
  async ([, work]) => {
    const { output } = runScript(
      `const sandbox = await startSandbox(); process.stdout.write(sandbox.origin);${work}`,
    );
    await eventually("the script is told", () => expect(output.stderr).toMatch(WARNING));
    expect((await fetch(`${output.stdout}/healthz`)).status).toBe(200);
    expect(output.stderr.match(/ Warning: /g)).toHaveLength(1);
  },
);
