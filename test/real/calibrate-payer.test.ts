import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { calibrationRecord } from "../../src/core/calibration/calibration.ts";
import { WEBHOOK_PATH, RETURN_PATH } from "../../src/core/calibration/payment.ts";
import { eventually } from "../support/eventually.ts";
import { begin, runHere, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const RECORD = "checkout.calibration.json";
const PAYMENT_DECISIONS = [10, 11, 12, 13, 16, 19, 88];

test("calibrate --with-payer receives events on its own port, and confirms the seven assumptions that need a payment", async () => {
  const cwd = tempFolder();
  const { ready } = await startSandbox({ cwd });
  const running = begin(["calibrate", "--yes", "--base-url", ready.base_url, "--with-payer", "--port", "0"], {
    cwd,
    env: { CHECKOUT_SIGNING_SECRET: ready.signing_secret ?? "" },
  });
  const told = await eventually("it asks for the payment", () => {
    const lines = running.output.stderr.split("\n").slice(0, -1);
    const addresses = lines.flatMap((line) => /https?:\S+/.exec(line) ?? []).map((text) => new URL(text));
    const url = addresses.find(({ pathname }) => pathname.startsWith("/pay/"));
    const hooks = addresses.find(({ pathname }) => pathname === WEBHOOK_PATH);
    const back = addresses.find(({ pathname }) => pathname === RETURN_PATH);
    if (!url || !hooks || !back) throw new Error(running.output.stderr);
    return { url, hooks: hooks.href, back };
  });
  await runHere(["endpoints", "add", told.hooks], { cwd });
  await runHere(["return-origins", "add", told.back.origin, "--path", told.back.pathname], { cwd });
  await runHere(["sandbox", "pay", told.url.pathname.slice("/pay/".length)], { cwd });
  const page = await (await fetch(told.url)).text();
  const [, link = ""] = new RegExp(`href="(${told.back.origin}[^"]+)"`).exec(page) ?? [];
  expect((await fetch(link.replaceAll("&amp;", "&"))).status).toBe(200);
  expect([await running.ended, running.output.stdout]).toEqual([0, expect.stringContaining(RECORD)]);
  const text = readFileSync(join(cwd, RECORD), "utf8");
  const { assumptions } = calibrationRecord.parse(JSON.parse(text));
  const verdicts = assumptions.filter(({ decision }) => PAYMENT_DECISIONS.includes(decision));
  expect(verdicts.map(({ decision, verdict }) => [decision, verdict])).toEqual(
    PAYMENT_DECISIONS.map((decision) => [decision, "confirmed"]),
  );
});
