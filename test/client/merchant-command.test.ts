import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { readView } from "../../src/client/judge/shop/view.ts";
import { runMerchantCommand } from "../../src/client/merchant-command.ts";
import { FULL, part } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Commands that create a file if a shell runs them, and the texts around them in a hostile order_id. */
const RUN = ["touch PWN", "echo>PWN", "cp /dev/null PWN"];
const AROUND = [
  ["x;", ";"],
  ["x&&", ""],
  ["x||", "#"],
  ["x|", ""],
  ["x&", "&"],
  ["$(", ")"],
  ["`", "`"],
  ["'$(", ")'"],
  ['";', ';"'],
  ["';", ";'"],
  ["\n", "\n"],
  ["${X:-$(", ")}"],
  ["<(", ")"],
] as const;

/** Order_ids of up to 32 characters that a stranger with the API key can choose. `npm test` draws one command. */
const HOSTILE_IDS = [
  ...part(RUN, RUN.length).flatMap((run) => AROUND.map(([before, after]) => `${before}${run}${after}`)),
  "-rf",
  "--",
  "%PATH%",
  "$CHECKOUT_API_KEY",
  "{order_id}",
  "../../etc/passwd",
  " * ",
  "\u202Eexe.\u200B",
];

test("a merchant's command gets the order_id unchanged in its environment, and the shell never executes the order_id", async () => {
  expect(HOSTILE_IDS.length).toBeGreaterThan(20);
  const folder = tempFolder();
  const commandLine = `cd '${folder}' && printf '%s' "$CHECKOUT_ORDER_ID" && printf '%s' $CHECKOUT_SESSION_ID`;
  for (const orderId of HOSTILE_IDS) {
    const subject = { orderId, id: "session" };
    const command = { commandLine, subject, env: {}, timeoutMs: 60_000, maxOutputBytes: 1000 };
    const { stdout } = await runMerchantCommand(REAL, command);
    expect([orderId, stdout]).toEqual([orderId, `${orderId}session`]);
    const view = { source: { commandLine }, paidWhen: /paid/ };
    const target = { origin: "http://127.0.0.1:1", token: "", version: "" };
    const look = { target, checkout: subject, view, env: {}, signal: new AbortController().signal };
    expect((await readView(REAL, look)).text).toBe(`${orderId}session`);
  }
  expect(readdirSync(folder)).toEqual([]);
});

test("a merchant's command can handle SIGTERM and end by itself", async () => {
  const folder = tempFolder();
  const asked = new AbortController();
  const commandLine = `cd '${folder}'; trap 'echo ended; exit 0' TERM; touch begun; sleep 60 & wait`;
  const command = { commandLine, env: {}, timeoutMs: 60_000, maxOutputBytes: 1000, signal: asked.signal };
  const running = runMerchantCommand(REAL, command);
  await eventually("it has begun", () => expect(readdirSync(folder)).toEqual(["begun"]));
  asked.abort("terminate");
  expect(await running).toMatchObject({ ending: "aborted", exitCode: 0, stdout: "ended\n" });
});

test("a program in a merchant's command can stop slowly at a SIGTERM, and no later command runs", async () => {
  const folder = tempFolder();
  const asked = new AbortController();
  const script = `process.on("SIGTERM", () => setTimeout(() => (console.log("ended"), process.exit(3)), 200));
    setInterval(() => {}, 1000); require("node:fs").writeFileSync("begun", "");`;
  const commandLine = `cd '${folder}' && "${process.execPath}" -e '${script}'; echo later`;
  const command = { commandLine, env: {}, timeoutMs: 60_000, maxOutputBytes: 1000, signal: asked.signal };
  const running = runMerchantCommand(REAL, command);
  await eventually("it has begun", () => expect(readdirSync(folder)).toEqual(["begun"]));
  asked.abort("terminate");
  expect(await running).toMatchObject({ ending: "aborted", exitCode: 3, stdout: "ended\n" });
});

test("a merchant's command gets no token of the sandbox, and is not run for an order_id with a null byte", async () => {
  const env = { CHECKOUT_CONTROL_TOKEN: "a", CHECKOUT_SANDBOX_ADMIN_TOKEN: "b", SHOP: "c" };
  const command = { env, timeoutMs: 60_000, maxOutputBytes: 10_000 };
  const { stdout } = await runMerchantCommand(REAL, { ...command, commandLine: "env" });
  expect(stdout.match(/^(?:CHECKOUT_\w+|SHOP)=.*$/gm)).toEqual(["SHOP=c"]);
  const subject = { orderId: "nul\0" };
  const refused = await runMerchantCommand(REAL, { ...command, subject, commandLine: "env" });
  expect([refused.ending, refused.stderr]).toEqual(["not_run", expect.stringContaining("null bytes")]);
});

/** Command lines of the program that run the merchant's command line `typed`. */
const CALLERS = [
  "checklist run idempotency --client-command typed",
  "checklist run duplicates --order-view-command typed --paid-when paid --create typed",
  "checklist run browser-return --return-url http://localhost:3000/ --order-view-command typed --paid-when paid --create typed",
  "explore --receiver http://localhost:3000/hooks --order-view-command typed --depth 1 -- typed",
].map((line) => line.split(" "));

async function order(harness: Harness, orderId: string): Promise<void> {
  const terms = "--amount-minor 1999 --currency EUR --payment-method alipay_plus".split(" ");
  const { stderr } = await harness.run(["orders", "create", `--order-id=${orderId}`, ...terms]);
  expect([orderId, stderr]).toEqual([orderId, ""]);
}

test("drills and explore run exactly the typed command line, even if the store has hostile order_ids", async () => {
  const harness = createHarness();
  await harness.start();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  harness.setShell(() => Promise.resolve({ ending: "exited", exitCode: 1, stdout: "", stderr: "" }));
  const orderIds = HOSTILE_IDS.filter((id) => !/[\n\u202E]/.test(id));
  for (const [at, orderId] of orderIds.entries()) {
    await order(harness, orderId);
    // In `npm test` the callers take turns.
    for (const line of FULL ? CALLERS : CALLERS.slice(at % CALLERS.length).slice(0, 1)) {
      const before = harness.commands.length;
      await harness.run(line);
      const run = harness.commands.slice(before).map(({ commandLine }) => commandLine);
      expect([line.slice(0, 3), orderId, [...new Set(run)]]).toEqual([line.slice(0, 3), orderId, ["typed"]]);
    }
  }
});

test("explore reads only the views of its own orders, not of orders that somebody else creates meanwhile", async () => {
  const harness = createHarness();
  await harness.start();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  let strangers = 0;
  const viewed = new Set<string | undefined>();
  harness.setShell(async ({ commandLine, env }) => {
    const { CHECKOUT_ORDER_ID: orderId = "" } = env;
    if (commandLine === "view") viewed.add(orderId);
    else {
      await order(harness, `x;touch PWN;${(strangers += 1)}`);
      await order(harness, orderId);
      await order(harness, `x;touch PWN;${(strangers += 1)}`);
    }
    return { ending: "exited", exitCode: 0, stdout: '{"paid":false}', stderr: "" };
  });
  const line = "explore --receiver http://localhost:3000/hooks --order-view-command view --depth 1 -- buy";
  const { stderr } = await harness.run(line.split(" "));
  expect(stderr).not.toContain("error");
  expect(strangers).toBeGreaterThan(3);
  expect([...viewed].filter((id) => !/^order-\w+-\d+$/.test(id ?? ""))).toEqual([]);
  expect(viewed.size).toBeGreaterThan(1);
});

test("every option that takes a shell command refuses {order_id} and {session_id}, and names the variable to read", async () => {
  const harness = createHarness();
  const view = "--order-view-command x --paid-when paid";
  const rows = [
    ["checklist run idempotency --client-command COMMAND"],
    ["checklist run duplicates --order-view-command COMMAND --paid-when paid"],
    [`checklist run duplicates ${view} --create COMMAND`],
    [`checklist run duplicates ${view} --restart COMMAND`],
    [`checklist run browser-return --return-url http://localhost:3000/ ${view} --create COMMAND`],
    ["explore --serve COMMAND --receiver-path /hooks -- buy"],
    ["explore --receiver http://localhost:3000/ --order-view-command COMMAND -- buy"],
    ["explore -- COMMAND"],
  ] as const;
  const placeholders = { "{order_id}": "$CHECKOUT_ORDER_ID", "{session_id}": "$CHECKOUT_SESSION_ID" };
  for (const [line] of rows)
    for (const [placeholder, variable] of Object.entries(placeholders)) {
      const words = line.split(" ").map((word) => (word === "COMMAND" ? `status ${placeholder}` : word));
      const { code, stderr } = await harness.run(words);
      expect([line, code, stderr]).toEqual([line, 2, expect.stringContaining(`"${variable}"`)]);
    }
  expect(harness.commands).toEqual([]);
});
