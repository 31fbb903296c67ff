import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { expect, test } from "vitest";
import { createPrinter } from "../../src/cli/printer.ts";
import { wrapText } from "../../src/cli/wrap.ts";
import { createHarness } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const LINK =
  "http://localhost:4242/portal/k-0123456789012345678901/checkouts/0199a3c4-5d00-7000-8000-0000000000aa";

test("a long line wraps between words with an indent, and never inside a link", () => {
  expect(wrapText("one two three", { width: 8 })).toBe("one two\nthree");
  expect(wrapText("  · one two three", { width: 10, indent: 4 })).toBe("  · one\n    two\n    three");
  expect(wrapText(`see ${LINK} for more`, { width: 20, indent: 2 })).toBe(`see\n  ${LINK}\n  for more`);
  expect(wrapText("→ hooks  500 ×4", { width: 80 })).toBe("→ hooks  500 ×4");
  expect(wrapText("\u001b[31mone\u001b[39m two", { width: 7 })).toBe("\u001b[31mone\u001b[39m two");
  expect(wrapText("漢字 漢字", { width: 8 })).toBe("漢字\n漢字");
});

test("checklist and explain wrap their output at 80 columns in a terminal, and do not wrap it in a pipe", async () => {
  const { harness, addEndpoint, receiver, order } = await openWebhookSite();
  const hooks = receiver(3000);
  hooks.answers = () => ({ status: 400, headers: {}, body: "the signature does not match" });
  await addEndpoint(hooks.url);
  const id = await order("order-1001");
  await harness.clock.sleep(1000);
  const terminal = { terminal: true, columns: 80, env: { NO_COLOR: "1" } };
  for (const line of ["checklist", `explain ${id}`]) {
    const shown = await harness.run(line.split(" "), terminal);
    const piped = await harness.run(line.split(" "));
    for (const text of shown.stdout.split("\n")) {
      const isCommand = text.trim().startsWith("→ checkout ");
      expect([line, text, isCommand || stringWidth(text) <= 80]).toEqual([line, text, true]);
    }
    const words = ({ stdout }: typeof piped): string =>
      stdout.replaceAll(/\s+/g, " ").replaceAll(/\d+s? ago|\d+ ms/g, "");
    expect(words(shown)).toBe(words(piped));
  }
  const { stdout } = await harness.run(["checklist"]);
  expect(stdout.split("\n").some((line) => line.length > 80)).toBe(true);
});

test("a refusal wraps to the terminal, except for a command to copy", async () => {
  const stderr = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true, columns: 60 });
  const printer = await createPrinter({ stdout: stderr, stderr, env: { NO_COLOR: "1" } }, { json: false });
  const long = "several words and ".repeat(6);
  const command = `checkout orders create ${"--order-id order-1001 ".repeat(4)}`.trim();
  printer.problem({ exitCode: 1, code: "c", message: long, next: command });
  printer.problem({ exitCode: 1, code: "c", message: "m", next: `${long}; then: checkout whoami` });
  const lines = String(stderr.read()).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    expect.stringMatching(/^✗ several .{30,}$/),
    expect.stringMatching(/^ {2}(and|several|words) /),
    expect.stringContaining(`  → ${command}`),
  ]);
  for (const line of lines) expect([line, line.includes(command) || line.length <= 60]).toEqual([line, true]);
});

test("states in tables are coloured on a terminal, and have the same words in a pipe", async () => {
  const { harness, addEndpoint, receiver, order } = await openWebhookSite();
  const [good, bad] = [receiver(3000), receiver(3001)];
  bad.answers = () => 500;
  await addEndpoint(good.url);
  await addEndpoint(bad.url);
  await order("order-1001");
  await harness.clock.sleep(1000);
  const colours = { terminal: true, columns: 160, env: { FORCE_COLOR: "1" } };
  const rows = [
    ["deliveries list", "\u001b[32m200\u001b[39m", "\u001b[31m500\u001b[39m", "\u001b[33mdue\u001b[39m"],
    ["endpoints list", "\u001b[32menabled\u001b[39m", "\u001b[31mfailing\u001b[39m"],
    ["requests list", "\u001b[32m201\u001b[39m"],
    ["idempotency list"],
  ] as const;
  for (const [line, ...painted] of rows) {
    const shown = await harness.run(line.split(" "), colours);
    for (const cell of painted) expect([line, shown.stdout]).toEqual([line, expect.stringContaining(cell)]);
    const plain = await harness.run(line.split(" "), { columns: 160 });
    expect(stripVTControlCharacters(shown.stdout)).toBe(plain.stdout);
    expect(plain.stdout).toBe(stripVTControlCharacters(plain.stdout));
  }
});

test("requests list shows times at 80 columns, with the date if the requests are from several days", async () => {
  const harness = createHarness();
  await harness.start();
  const create = (id: string) =>
    harness.run(["orders", "create", "--order-id", id, "--price-id", "price_coffee"]);
  const list = async (): Promise<string> => (await harness.run(["requests", "list"], { columns: 80 })).stdout;
  await create("order-of-the-shop-with-32-letter");
  expect(await list()).toMatch(/^ID .*\n\S{8} {2}12:00:00 {2}201 .*32-letter\n$/);
  harness.clock.advance(24 * 3_600_000);
  await create("order-2");
  expect(await list()).toMatch(/\n\S{8} {2}2026-\d\d-\d\d 12:00:00 {2}201 /);
});

test("endpoints list shortens a long address in its middle", async () => {
  const { harness, addEndpoint } = await openWebhookSite();
  await addEndpoint(`http://localhost:3000/${"folder/".repeat(12)}hooks`);
  const { stdout } = await harness.run(["endpoints", "list"], { columns: 80 });
  expect(stdout).toMatch(/ http:\/\/localhost:3000\/[\w/]*…[\w/]*folder\/hooks +–?\n$/);
});
