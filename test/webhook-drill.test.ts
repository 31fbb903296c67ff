import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { timingSafeEqual } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { webhookSubject } from "../src/core/readiness/drills/drill.ts";
import { CASE_NAMES, DRILL_CASES, type CaseName } from "../src/core/readiness/drills/webhook.ts";
import { DRILL_CAUSES, explain, type DrillCause } from "../src/core/readiness/drills/webhook-causes.ts";
import type { HttpResponse } from "../src/world.ts";
import { run, startSandbox } from "./support/program.ts";
import {
  digest,
  handmade,
  parse,
  right,
  serve,
  type Incoming,
  type Receiver,
} from "./support/merchant-receivers.ts";
import { tempFolder } from "./support/temp-folder.ts";
import { openWebhookSite } from "./support/webhook-site.ts";
import type { WireAnswerOf } from "./support/wire.ts";

type Report = { readonly passed: boolean; readonly drills: WireAnswerOf<"runWebhookDrill">["drills"] };
type Site = Awaited<ReturnType<typeof openSite>>;

const HOOKS = "http://localhost:3000/hooks";
const GOOD: readonly CaseName[] = CASE_NAMES.filter((name) => DRILL_CASES[name].expected === "2xx");
const BAD = CASE_NAMES.filter((name) => DRILL_CASES[name].expected === "4xx");

/** A sandbox with one endpoint, whose receiver can be replaced. */
async function openSite(receiver: Receiver) {
  const site = await openWebhookSite();
  const { harness } = site;
  const secrets = { current: "" };
  const listen = (next: Receiver, port = 3000): void => {
    const answer = serve(next, { secret: () => secrets.current, now: () => harness.clock.now() });
    harness.vacate(port);
    harness.occupy(port, {
      answer: (request): Promise<HttpResponse> =>
        Promise.resolve({ status: answer(request), headers: {}, body: "" }),
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    });
  };
  listen(receiver);
  const added = await site.control<WireAnswerOf<"addEndpoint">>("/endpoints", { url: HOOKS });
  secrets.current = added.data.signing_secret;
  return { ...site, id: added.data.id, secrets, listen };
}

async function drill(site: Pick<Site, "harness">, ...args: readonly string[]) {
  const { code, stdout, stderr } = await site.harness.run([
    ..."checklist run webhooks --json".split(" "),
    ...args,
  ]);
  expect(stderr).toBe("");
  const report = JSON.parse(stdout) as Report;
  return { code, ...report };
}

/** The causes of the steps that failed. */
function causesOf(report: Report): Partial<Record<CaseName, DrillCause>> {
  const codes = Object.entries(DRILL_CAUSES).map(([code, sentence]) => [sentence, code] as const);
  const [only] = report.drills;
  const failed = only?.steps.filter(({ passed }) => !passed) ?? [];
  return Object.fromEntries(
    failed.map(({ name, cause }) => [name, codes.find(([sentence]) => sentence === cause)?.[1] ?? cause]),
  );
}

/** The same cause for each of some cases. */
function each(cause: DrillCause, names: readonly CaseName[]): Partial<Record<CaseName, DrillCause>> {
  return Object.fromEntries(names.map((name) => [name, cause]));
}

/** The causes that a drill of a receiver finds; its verdict and its exit code agree with them. */
async function found(receiver: Receiver): Promise<Partial<Record<CaseName, DrillCause>>> {
  const report = await drill(await openSite(receiver));
  const causes = causesOf(report);
  const passed = Object.keys(causes).length === 0;
  expect([report.passed, report.code]).toEqual([passed, passed ? 0 : 1]);
  return causes;
}

test("right receivers pass: the exported verifier, and one made by hand", async () => {
  expect(await found(right)).toEqual({});
  expect(await found(handmade({}))).toEqual({});
});

const isPrefixRight = ({ signature, over, rawBody }: Incoming): boolean =>
  signature?.slice(0, 16) === over(rawBody).slice(0, 16);
const isParsedRight = (incoming: Incoming): boolean =>
  incoming.signature === incoming.over(JSON.stringify(parse(incoming)));

test("eight wrong receivers fail, each for its own reason", async () => {
  const noCheck: Receiver = (incoming) => (parse(incoming).event_id === "" ? 400 : 200);
  expect(await found(noCheck)).toEqual({
    ...each(
      "no_check",
      BAD.filter((name) => name !== "no_event"),
    ),
    no_event: "parses_first",
  });
  expect(await found(handmade({ isSigned: isParsedRight }))).toEqual({
    spaced_body: "parsed_body",
    unusual_bytes: "parsed_body",
    rewritten_body: "parsed_body",
    no_event: "parses_first",
  });
  expect(await found(handmade({ isFresh: () => true }))).toEqual(
    each("no_staleness_check", ["hour_old", "hour_ahead"]),
  );
  expect(await found(handmade({ isFresh: (age) => age <= 300 }))).toEqual({ hour_ahead: "takes_ahead" });
  expect(await found(handmade({ isFresh: (age) => age >= -300 }))).toEqual({ hour_old: "takes_old" });
  expect(await found(handmade({ isSigned: isPrefixRight }))).toEqual(
    each("compares_prefix", ["right_beginning", "short_signature"]),
  );
  expect(await found(() => 200)).toEqual(each("takes_all", BAD));
  expect(await found(() => 500)).toEqual(each("fails_always", CASE_NAMES));
});

test("a receiver that is slow is given up after the first event; where only refusals do not come, after three", async () => {
  const slow = await openSite(right);
  const timeout = { ok: false, failure: "timeout", message: "no whole answer within 15000 ms" } as const;
  let sent = 0;
  slow.harness.setFault((request, pass) => {
    if (request.url !== HOOKS) return pass();
    sent += 1;
    return Promise.resolve(timeout);
  });
  const report = await drill(slow);
  expect(causesOf(report)).toEqual(each("too_slow", CASE_NAMES));
  expect([sent, report.code]).toEqual([1, 1]);
  expect(report.drills[0]?.steps[0]?.got).toMatch(/^timeout after \d+ ms: no whole answer within 15000 ms$/);
  expect(report.drills[0]?.steps[1]?.got).toBe("not sent: the drill was given up");

  const silent = await openSite(right);
  sent = 0;
  silent.harness.setFault(async (request, pass) => {
    const result = await pass();
    if (request.url !== HOOKS) return result;
    sent += 1;
    return result.ok && result.status === 400 ? timeout : result;
  });
  const given = causesOf(await drill(silent));
  expect(given).toEqual(each("silent_on_bad", CASE_NAMES.slice(4)));
  expect(sent).toBe(7);
});

test("other mistakes are told apart", async () => {
  const takesOnce = (status: number): Receiver => {
    const seen = new Set<string>();
    return (incoming) => {
      const verdict = right(incoming);
      if (verdict !== 204) return verdict;
      const { event_id: id } = parse(incoming);
      return seen.has(id) ? status : (seen.add(id), 204);
    };
  };
  const rows: readonly (readonly [Receiver, Partial<Record<CaseName, DrillCause>>])[] = [
    [takesOnce(409), { duplicate: "rejects_duplicates" }],
    [takesOnce(500), { duplicate: "rejects_duplicates" }],
    // Header there or not is all that counts.
    [
      ({ signature }) => (signature === undefined ? 401 : 200),
      each(
        "presence_only",
        BAD.filter((name) => name !== "no_signature"),
      ),
    ],
    [
      (incoming) => (incoming.signature === undefined ? 200 : right(incoming)),
      { no_signature: "skips_without_header" },
    ],
    [
      (incoming) => (incoming.number % 2 === 0 ? 200 : right(incoming)),
      each(
        "verifies_sometimes",
        BAD.filter((name) => CASE_NAMES.indexOf(name) % 2 === 0),
      ),
    ],
    [
      (incoming) => (incoming.number % 2 === 1 ? 200 : right(incoming)),
      each(
        "verifies_sometimes",
        BAD.filter((name) => CASE_NAMES.indexOf(name) % 2 === 1),
      ),
    ],
    // A comparison of its own that stops where the shorter one ends.
    [
      handmade({
        isSigned: ({ signature = "-", over, rawBody }) => over(rawBody).startsWith(signature),
      }),
      { short_signature: "compares_what_came" },
    ],
    [
      handmade({
        isSigned: ({ signature = "", over, rawBody }) =>
          signature !== "" && timingSafeEqual(Buffer.from(signature), Buffer.from(over(rawBody))),
      }),
      { short_signature: "throws_on_length" },
    ],
    [
      (incoming) => {
        if (right(incoming) !== 204) throw new Error("bad signature");
        return 200;
      },
      each("throws_on_bad", BAD),
    ],
    [
      handmade({
        isSigned: ({ signature, over, rawBody }) => signature === over(rawBody.toString("latin1").trim()),
      }),
      { unusual_bytes: "decoded_body" },
    ],
    // What Python's json.dumps makes of a parsed body.
    [
      handmade({
        isSigned: (incoming) =>
          incoming.signature ===
          incoming.over(
            JSON.stringify(parse(incoming), null, 1)
              .replaceAll(/\n\s*/g, " ")
              .replaceAll("{ ", "{")
              .replaceAll(" }", "}"),
          ),
      }),
      {
        ...each("parsed_body", ["good_event", "duplicate", "unusual_bytes", "good_at_the_end"]),
        no_event: "parses_first",
      },
    ],
    [() => 401, each("refuses_all", GOOD)],
    [() => 404, each("no_route", GOOD)],
    [() => 308, each("redirects", CASE_NAMES)],
    [() => 429, each("rate_limited", CASE_NAMES)],
    [(incoming) => (right(incoming) === 204 ? 503 : 400), each("fails_after_check", GOOD)],
    [(incoming) => (incoming.number > 9 ? 403 : right(incoming)), { good_at_the_end: "shuts_out" }],
  ];
  for (const [receiver, expected] of rows) expect(await found(receiver)).toEqual(expected);
});

test("patterns that no receiver here shows", () => {
  const timeout = { error: "timeout", message: "" } as const;
  const lost = { error: "connection_lost", message: "" } as const;
  const forbidden = { error: "target_forbidden", message: "" } as const;
  type Answers = Partial<Record<CaseName, number | typeof timeout | typeof lost | typeof forbidden>>;
  const rows: readonly (readonly [Answers, Partial<Record<CaseName, DrillCause>>])[] = [
    [{}, {}],
    [
      { changed_byte: 200, rewritten_body: 204 },
      each("body_not_covered", ["changed_byte", "rewritten_body"]),
    ],
    [{ unusual_bytes: 500 }, { unusual_bytes: "chokes_on_bytes" }],
    [{ no_signature: 500 }, { no_signature: "throws_on_bad" }],
    [{ short_signature: lost }, { short_signature: "drops_connection" }],
    [{ duplicate: timeout }, { duplicate: "too_slow" }],
    [{ wrong_secret: 200 }, { wrong_secret: "verifies_sometimes" }],
    [{ no_event: 200 }, { no_event: "verifies_sometimes" }],
    [{ good_event: 400 }, { good_event: "verifies_sometimes" }],
    [{ bad_signature: 429 }, { bad_signature: "rate_limited" }],
  ];
  for (const [answers, expected] of rows) {
    const results = CASE_NAMES.map((name) => {
      const given = answers[name] ?? (GOOD.includes(name) ? 200 : 400);
      const answer = typeof given === "number" ? { status: given, said: "" } : given;
      return { name, eventId: name, milliseconds: 1, answer };
    });
    expect(Object.fromEntries(explain(results, { usedRetired: false }))).toEqual(expected);
  }
  const first = { name: "good_event", eventId: "1", milliseconds: 0, answer: forbidden } as const;
  expect([...explain([first], { usedRetired: false }).values()]).toEqual(CASE_NAMES.map(() => "forbidden"));
});

test("a receiver that is not there, or goes away", async () => {
  const site = await openSite(right);
  site.harness.vacate(3000);
  expect(causesOf(await drill(site))).toEqual(each("unreachable", CASE_NAMES));
  let sent = 0;
  site.listen(right);
  site.harness.setFault((request, pass) => {
    if (request.url === HOOKS && ++sent === 6) site.harness.vacate(3000);
    return pass();
  });
  expect(causesOf(await drill(site))).toEqual(each("went_away", CASE_NAMES.slice(5)));
});

test("nothing happens but the drill: no event, no delivery, and its requests are good to the byte", async () => {
  const bodies: string[] = [];
  const site = await openSite((incoming) => {
    bodies.push(incoming.rawBody.toString("utf8"));
    return right(incoming);
  });
  const { drills } = await drill(site);
  expect(await site.events()).toEqual([]);
  expect(await site.deliveries()).toEqual([]);
  const of = (name: CaseName): string => bodies[CASE_NAMES.indexOf(name)] ?? "";
  expect(of("duplicate")).toBe(of("good_event"));
  const parsed = bodies.filter((body) => body.startsWith("{")).map((body) => JSON.parse(body) as object);
  for (const event of parsed) expect(event).toMatchObject({ type: "webhook.test", livemode: false });
  expect(Object.keys(parsed[3] ?? {})).toContain("data");
  const references = drills[0]?.steps.map(({ reference }) => reference) ?? [];
  expect(new Set(references).size).toBe(CASE_NAMES.length - 1);
  expect(drills[0]?.steps.map(({ name }) => name)).toEqual(CASE_NAMES);
  expect(drills[0]?.steps.map(({ got }) => got)).toEqual(
    CASE_NAMES.map((name) => `${GOOD.includes(name) ? 204 : 400} after 0 ms`),
  );
  expect(digest(of("changed_byte"))).not.toBe(digest(of("good_event")));
});

test("what a drill has shown is kept, and is void once the address or the secret is another", async () => {
  const site = await openSite(right);
  const first = await drill(site);
  const { id, subject } = first.drills[0] ?? { id: "", subject: "" };
  expect(first.drills[0]).toMatchObject({ kind: "webhook", endpoint_id: site.id, url: HOOKS, passed: true });
  const listed = async (query = "") =>
    (await site.control<WireAnswerOf<"listDrills">>(`/drills${query}`)).data.drills;
  expect((await listed()).map((one) => one.id)).toEqual([id]);
  expect(await listed("?kind=idempotency")).toEqual([]);
  const rotated = await site.control<WireAnswerOf<"rotateSecret">>(`/endpoints/${site.id}/secret`, {
    overlap_ms: 1000,
  });
  // The receiver knows the old secret alone: it takes what is delivered now, but not what will be.
  expect(causesOf(await drill(site))).toEqual(each("refuses_all", GOOD));
  site.secrets.current = rotated.data.in_force[0] ?? "";
  const second = await drill(site);
  expect([second.passed, second.drills[0]?.subject === subject]).toEqual([true, false]);
  const elsewhere = { id: site.id, url: `${HOOKS}/new` };
  expect(webhookSubject(elsewhere, site.secrets.current)).not.toBe(second.drills[0]?.subject);
  expect(webhookSubject({ ...elsewhere, url: HOOKS }, site.secrets.current)).toBe(second.drills[0]?.subject);
  await site.advance(2000);
  // The one before is over now, and a receiver that still knows it is found out.
  const [old = ""] = (await site.control<WireAnswerOf<"showSecret">>(`/endpoints/${site.id}/secret`)).data
    .retired;
  site.listen((incoming) => Math.min(right(incoming), right({ ...incoming, secret: old })));
  expect(causesOf(await drill(site))).toEqual({ wrong_secret: "old_secret" });
  expect((await listed("?kind=webhook&limit=2")).map((one) => one.passed)).toEqual([false, true]);
  const database = site.database();
  expect(() => database.exec("UPDATE drills SET passed = 1")).toThrow("immutable");
  expect(() => database.exec("DELETE FROM drills")).toThrow("immutable");
  database.close();
});

test("each endpoint that is on is drilled, or the one that is named", async () => {
  const site = await openSite(right);
  site.listen(() => 200, 3001);
  const other = await site.addEndpoint("http://localhost:3001/hooks");
  await site.control("/listener", { url: "http://localhost:3002/hooks" });
  const both = await drill(site);
  expect([both.code, both.drills.map(({ url, passed }) => [url, passed])]).toEqual([
    1,
    [
      [HOOKS, true],
      ["http://localhost:3001/hooks", false],
    ],
  ]);
  expect((await drill(site, "--endpoint", site.id)).drills.map(({ passed }) => passed)).toEqual([true]);
  await site.control(`/endpoints/${other.id}/state`, { action: "disable" });
  expect((await drill(site)).drills).toHaveLength(1);

  const refused = async (line: string) => {
    const { code, stderr } = await site.harness.run(`checklist run webhooks ${line}`.trim().split(" "));
    return `${code} ${stderr}`;
  };
  expect(await refused(`--endpoint ${other.id}`)).toMatch(/^5 .*is disabled; enable it first/s);
  expect(await refused("--endpoint 00000000-0000-7000-8000-00000000ffff")).toMatch(
    /^1 .*there is no endpoint/s,
  );
  expect(await refused("--endpoint mine")).toMatch(/^2 /);
  const endpoints = (await site.control<WireAnswerOf<"listEndpoints">>("/endpoints")).data.endpoints;
  const listener = endpoints.find(({ kind }) => kind === "listener");
  expect(await refused(`--endpoint ${listener?.id ?? ""}`)).toMatch(/^5 .*is checkout listen/s);
  await site.control(`/endpoints/${site.id}/state`, { action: "disable" });
  expect(await refused("")).toMatch(/^5 .*nothing to drill.*checkout endpoints add/s);
});

test("people see each step, what came, and each cause once", async () => {
  const site = await openSite(handmade({ isFresh: () => true }));
  const { code, stdout, stderr } = await site.harness.run(["checklist", "run", "webhooks"]);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toMatchInlineSnapshot(`
    "✗ http://localhost:3000/hooks passed 13 of 15 steps
        STEP                                         EXPECTED  GOT
      ✓ a good event                                 2xx       200 after 0 ms
      ✓ the same event again, signed anew            2xx       200 after 0 ms
      ✓ a good event with blanks between its tokens  2xx       200 after 0 ms
      ✓ a good event in unusual bytes                2xx       200 after 0 ms
      ✓ a signature that no secret made              4xx       400 after 0 ms
      ✓ signed with another secret                   4xx       400 after 0 ms
      ✓ one byte of the body changed                 4xx       400 after 0 ms
      ✓ the same JSON in other white space           4xx       400 after 0 ms
      ✓ a signature of which 32 digits are right     4xx       400 after 0 ms
      ✓ a signature that ends after 32 right digits  4xx       400 after 0 ms
      ✓ no signature                                 4xx       400 after 0 ms
      ✓ a body that is no JSON, badly signed         4xx       400 after 0 ms
      ✗ signed an hour ago                           4xx       200 after 0 ms
      ✗ signed an hour ahead                         4xx       200 after 0 ms
      ✓ a good event after all that                  2xx       200 after 0 ms
      → It does not check the age of the timestamp, so a recorded request can be sent again for ever. After the signature, check that the timestamp is within 5 minutes of its clock. (signed an hour ago; signed an hour ahead)
    "
  `);
});

test("a receiver in Python, with its standard library alone, passes the drill of the real program", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  const python = spawn("python3", [join(import.meta.dirname, "support/receiver.py"), "0"], {
    env: { ...process.env, WEBHOOK_SECRET: sandbox.ready.signing_secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void python.kill("SIGKILL"));
  const port = await Promise.race([
    once(python.stdout, "data").then(([line]) => Number(String(line))),
    once(python, "error").then(([error]) => {
      throw new Error(`python3 is needed for this test: ${String(error)}`);
    }),
    once(python, "exit").then(() => {
      throw new Error("python3 ended before it listened");
    }),
  ]);
  const added = await run(["endpoints", "add", `http://127.0.0.1:${port}/hooks`], { cwd });
  expect(added.code).toBe(0);
  const drilled = await run(["checklist", "run", "webhooks"], { cwd });
  expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
  expect(drilled.stdout).toContain("accepts valid webhooks and refuses invalid ones");
});
