import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_HEADER_NAMES, signHeaders } from "../../src/core/webhook/signature.ts";
import { createHarness } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";

type Verdict = {
  readonly valid: boolean;
  readonly secret_of?: string;
  readonly causes?: readonly { readonly code: string; readonly message: string }[];
};

/** A sandbox with an event, and an endpoint with its own secret. */
async function open() {
  const harness = createHarness();
  const { ready } = { ready: (await harness.start()).ready };
  const run = async (line: string): Promise<string> => (await harness.run(line.split(" "))).stdout;
  const { id } = JSON.parse(await run("endpoints add http://localhost:3000/hooks --json")) as { id: string };
  await run(`endpoints rotate-secret ${id}`);
  await run("orders create --order-id order-1 --price-id price_coffee");
  const { events } = JSON.parse(await run("events list --json")) as {
    events: { event_id: string; body: string }[];
  };
  const [event = { event_id: "", body: "" }] = events;
  const [own = ""] = (await run(`endpoints secret ${id}`)).split("\n");
  /** Signs a body with `key`, and verifies it with a secret in the variable or in a file. */
  const verify = async (given: {
    readonly env?: string;
    readonly file?: string;
    readonly key?: string;
    readonly body?: string;
    readonly signed?: string;
  }) => {
    const { env = "", file, key = own, signed = event.body, body = signed } = given;
    const [rawBody, secret] = [join(harness.cwd, "body.json"), join(harness.cwd, "secret.txt")];
    writeFileSync(rawBody, body);
    writeFileSync(secret, file ?? "");
    const headers = signHeaders([key], {
      eventId: event.event_id,
      timestamp: Math.floor(harness.clock.now() / 1000),
      rawBody: Buffer.from(signed),
    });
    const args = [
      "webhooks",
      "verify",
      "--json",
      "--payload-file",
      rawBody,
      "--timestamp",
      headers[DEFAULT_HEADER_NAMES.timestamp] ?? "",
      "--signature",
      headers[DEFAULT_HEADER_NAMES.signature] ?? "",
      ...(file === undefined ? [] : ["--secret-file", secret]),
    ];
    const { stdout, code } = await harness.run(args, { env: { CHECKOUT_SIGNING_SECRET: env } });
    const verdict = JSON.parse(stdout) as Verdict;
    return { exit: code, ...verdict, codes: (verdict.causes ?? []).map((cause) => cause.code) };
  };
  return { verify, own, event, store: ready.signing_secret };
}

test("webhooks verify accepts only a signature with the given secret, and explains a mismatch with the sandbox's secrets", async () => {
  const { verify, own, store } = await open();
  const ofEndpoint = expect.stringContaining(" http://localhost:3000/hooks") as string;
  expect(await verify({})).toMatchObject({ exit: 0, valid: true, secret_of: ofEndpoint, codes: [] });
  // `eval "$(checkout env)"` sets the store's secret.
  const other = await verify({ env: store });
  expect(other).toMatchObject({ exit: 1, valid: false, codes: ["other_secret"] });
  expect(other.causes?.[0]?.message).toEqual(ofEndpoint);
  expect(await verify({ env: own })).toMatchObject({ exit: 0, secret_of: ofEndpoint, codes: [] });
  expect(await verify({ env: `"${own}"` })).toMatchObject({ exit: 1, codes: ["secret_quoted"] });
  expect(await verify({ file: "whsec_00000000000000000000000000000000" })).toMatchObject({
    exit: 1,
    valid: false,
    codes: ["other_secret"],
  });
  expect(await verify({ file: own.slice(0, 30) })).toMatchObject({ exit: 1, codes: ["secret_cut"] });
  const typo = own.slice(0, -1) + (own.endsWith("A") ? "B" : "A");
  expect(await verify({ file: typo })).toMatchObject({ exit: 1, codes: ["secret_mistyped"] });
});

test("webhooks verify compares a body with the event that the body names, if the running sandbox has that event", async () => {
  const { verify, event } = await open();
  const { body } = event;
  const changed = await verify({ signed: body, body: body.replace("450", "4.50") });
  expect(changed).toMatchObject({ exit: 1, codes: ["body_differs"] });
  expect(changed.causes?.[0]?.message).toMatch(inOrder(` ${event.event_id} `, / \d+: /, "`450`", "`4.50`"));
  const lent = await verify({ key: "whsec_never_heard_of" });
  expect(lent).toMatchObject({ exit: 1, codes: ["body_is_event"] });
  expect(await verify({ body: `${body}\n`, signed: body })).toMatchObject({
    codes: ["body_whitespace_added", "body_differs"],
  });
  const unknown = body.replace(event.event_id, "019b76da-a800-7000-8000-00000000ffff");
  expect((await verify({ body: unknown, signed: body })).codes).not.toContain("body_is_event");
});
