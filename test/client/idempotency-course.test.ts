import { expect, test } from "vitest";
import { drillIdempotency } from "../../src/client/drills/idempotency.ts";
import type { AnswerOf } from "../../src/core/control/operations.ts";
import type { ClientRun } from "../../src/core/readiness/names.ts";
import type { OutboundRequest, OutboundResult, ShellCommand, ShellResult } from "../../src/world.ts";
import {
  CONTROL,
  createDrillClock,
  idOf,
  ORIGIN,
  REFUSED,
  refusal,
  serveControl,
  type ControlAnswers,
  type ControlCallPoint,
} from "../support/drill-service.ts";
import { aCheckoutEntry } from "../support/rows.ts";

const LEASE = idOf(901);
const STORE = idOf(902);

/** A start of the merchant's command: how it ends, and what the sandbox says about its creates. */
type Start = Partial<Pick<ShellResult, "ending" | "exitCode">> & {
  /** Default: the answer was lost, and a later attempt was answered. */
  readonly seen?: AnswerOf<"endClientRun">;
  /** Seconds until it ends; default: 2. */
  readonly seconds?: number;
};

/** The starts of a command in each run. */
type Client = Partial<Readonly<Record<ClientRun, readonly Start[]>>>;

const ANSWERED = { came: true, lost: true, answered: true };
const OPEN = { came: true, lost: true, answered: false };
const NOT_LOST = { came: true, lost: false, answered: true };
const NOTHING = { came: false, lost: false, answered: false };
/** A command that goes on until it is killed. */
const HANGS: Start = { seconds: Number.POSITIVE_INFINITY, seen: OPEN };
const RIGHT: Client = { killed: [HANGS] };

type Plan = {
  readonly client?: Client;
  readonly refused?: ControlCallPoint;
  /** Interrupts the drill at this line of its course. */
  readonly interruptedAt?: string;
  readonly interruptedAfterMs?: number;
  readonly apiKey?: string | null;
  readonly reuse?: AnswerOf<"closeIdempotencyDrill">["reuse"];
  readonly newest?: "logged" | "stored" | "none";
};

const REUSE = { path: "/v1/orders", idempotencyKey: "key-1", body: { order_id: "A-1" } };
const ORDER_IDS = new Map([
  ["SO-1500000000", "first"],
  ["SO-5100000000", "second"],
  ["SO-1500000001", "third"],
  ["sO-1500000000", "other case"],
  ["SO-01500000000", "with a zero"],
]);

/** Runs a drill of a command in memory, and writes down what it does and when. */
async function runDrill(plan: Plan) {
  const {
    client = RIGHT,
    refused,
    interruptedAt,
    apiKey = "a-drill-key",
    reuse = REUSE,
    newest = "logged",
  } = plan;
  const clock = createDrillClock();
  const course: string[] = [];
  const interrupt = new AbortController();
  if (plan.interruptedAfterMs !== undefined) clock.after(plan.interruptedAfterMs, () => interrupt.abort());
  const commands: ShellCommand[] = [];
  const sent: OutboundRequest[] = [];
  let current: { readonly run: ClientRun; readonly start: Start } = { run: "first", start: {} };
  let lose = (): void => undefined;
  const starts = new Map<ClientRun, number>();
  const note = (line: string): void => {
    course.push(`${clock.now() / 1000} ${line}`);
    if (line === interruptedAt) interrupt.abort();
  };

  const listed = {
    checkouts: [],
    now: 0,
    nextBefore: null,
    searched: null,
    searchedBackTo: null,
    refused: [],
  };
  const entry = aCheckoutEntry({ id: idOf(1), orderId: "SO-2026-1" });
  const answers: ControlAnswers = {
    openLease: ({ drill, timeoutMs }) => {
      note(`lease of ${drill} for ${timeoutMs / 1000} s`);
      return { id: LEASE, storeId: STORE, apiKey };
    },
    endLease: (_body, id) => {
      note(`end of ${id === LEASE ? "the lease" : id}`);
      return {};
    },
    listRequests: (body) => {
      expect(body).toEqual({ method: "POST", path: "/v1/", status: "201", by: "merchant", limit: 1 });
      return { requests: newest === "logged" ? [LOGGED] : [], position: 0, failure: null };
    },
    listCheckouts: (body) => {
      expect(body).toEqual({ limit: 1 });
      return newest === "stored" ? { ...listed, checkouts: [entry] } : listed;
    },
    beginClientRun: ({ run, orderId }, id) => {
      expect(id).toBe(LEASE);
      const nth = starts.get(run) ?? 0;
      starts.set(run, nth + 1);
      current = { run, start: client[run]?.[nth] ?? {} };
      note(`${run}: ${ORDER_IDS.get(orderId) ?? orderId}`);
      return {};
    },
    endClientRun: ({ ending, exitCode }, id) => {
      expect(id).toBe(LEASE);
      note(`${ending} ${exitCode}`);
      lose();
      return current.start.seen ?? ANSWERED;
    },
    awaitClientRun: async (_body, id) => {
      expect(id).toBe(LEASE);
      // A second after its start the answer is lost.
      if (current.start.seen?.lost === true) await clock.sleep(1000);
      else await new Promise<void>((resolve) => (lose = resolve));
      return { lost: current.start.seen?.lost === true };
    },
    closeIdempotencyDrill: (_body, id) => {
      note(`close ${id === LEASE ? "the drill" : id}`);
      return { reuse };
    },
    judgeIdempotencyDrill: (_body, id) => {
      note(`judge ${id === LEASE ? "the drill" : id}`);
      return { verdict: "passed", drillId: idOf(7), steps: [], creates: [] };
    },
  };
  const control = serveControl(answers, refused);
  const run = async (command: ShellCommand): Promise<ShellResult> => {
    commands.push(command);
    note("command");
    const { start } = current;
    if (start.ending === "not_run") throw new Error("no shell");
    const { seconds = 2, ending = "exited", exitCode = 0 } = start;
    const killed = new Promise<boolean>((resolve) => {
      if (command.signal?.aborted === true) resolve(true);
      command.signal?.addEventListener("abort", () => resolve(true));
    });
    const time = Number.isFinite(seconds) ? clock.sleep(seconds * 1000) : new Promise<void>(() => undefined);
    const wasKilled = await Promise.race([killed, time.then(() => false)]);
    const said = { stdout: current.run, stderr: "" };
    return wasKilled
      ? { ending: "aborted", exitCode: null, ...said }
      : { ending, exitCode: ending === "exited" ? exitCode : null, ...said };
  };
  const send = (request: OutboundRequest): Promise<OutboundResult> => {
    if (!request.url.startsWith(`${ORIGIN}/v1/`)) return control.send(request);
    sent.push(request);
    note("the other body");
    return Promise.resolve(refusal());
  };
  const result = await drillIdempotency(
    { ...clock, send, run, random: () => 0.5, randomBytes: (length) => new Uint8Array(length) },
    CONTROL,
    {
      commandLine: "buy",
      commandTimeoutMs: 60_000,
      target: { baseUrl: `${ORIGIN}/v1`, apiKey: "own-key", service: "local", storeId: STORE },
      signal: interrupt.signal,
    },
  );
  return { result, course, calls: control.calls, commands, sent };
}

/** A create in the log of requests. */
const LOGGED = {
  requestId: idOf(3),
  at: 0,
  realAt: 0,
  method: "POST",
  path: "/v1/orders",
  status: 201,
  code: null,
  message: null,
  orderId: "SO-2026-1",
  durationMs: 1,
  decisions: [],
  fault: null,
  byDrill: false,
};

/** What the drill does with a right client, with the second at which it does it. */
const COURSE = [
  "0 lease of idempotency for 660 s",
  "0 first: first",
  "0 command",
  "2 exited 0",
  "2 killed: second",
  "2 command",
  "3 killed null",
  "3 between: third",
  "3 command",
  "5 exited 0",
  "6.1 restarted: second",
  "6.1 command",
  "8.1 exited 0",
  "8.1 alike: other case",
  "8.1 command",
  "10.1 exited 0",
  "10.1 alike: with a zero",
  "10.1 command",
  "12.1 exited 0",
  "12.1 close the drill",
  "12.1 the other body",
  "12.1 judge the drill",
  "12.1 end of the lease",
];

test("a right client is run for five purchases, and its key is sent with another body in the end", async () => {
  const { course, result, commands, sent } = await runDrill({});
  expect(course).toEqual(COURSE);
  expect(result).toMatchObject({
    end: "success",
    value: { drill: { drillId: idOf(7) }, client: { ending: "exited", stdout: "restarted" } },
  });
  for (const { commandLine, timeoutMs, maxOutputBytes } of commands)
    expect([commandLine, timeoutMs, maxOutputBytes]).toEqual(["buy", 60_000, 4096]);
  expect(commands[0]?.env).toEqual({
    CHECKOUT_BASE_URL: `${ORIGIN}/v1`,
    CHECKOUT_API_KEY: "a-drill-key",
    CHECKOUT_STORE_ID: STORE,
    CHECKOUT_ORDER_ID: "SO-1500000000",
    CHECKOUT_CONTROL_TOKEN: undefined,
    CHECKOUT_ADMIN_TOKEN: undefined,
    CHECKOUT_SANDBOX_CONTROL_TOKEN: undefined,
    CHECKOUT_SANDBOX_ADMIN_TOKEN: undefined,
  });
  expect(sent).toMatchObject([
    {
      method: "POST",
      url: `${ORIGIN}/v1/orders`,
      headers: {
        Authorization: "Bearer a-drill-key",
        "Content-Type": "application/json",
        "Idempotency-Key": "key-1",
        "User-Agent": "checkout-cli drill",
      },
      body: '{"order_id":"A-1"}',
    },
  ]);
  const ownKey = await runDrill({ apiKey: null });
  expect(ownKey.commands[0]?.env["CHECKOUT_API_KEY"]).toBe("own-key");
  expect(ownKey.sent[0]?.headers["Authorization"]).toBe("Bearer own-key");
  expect((await runDrill({ reuse: null })).sent).toEqual([]);
});

test("order_ids have the form of the merchant's newest one, in the log or else in the store", async () => {
  const firstOf = async (newest: NonNullable<Plan["newest"]>) => (await runDrill({ newest })).course[1];
  expect(await firstOf("stored")).toBe("0 first: first");
  expect(await firstOf("none")).toBe("0 first: order-1500000000");
});

/** The runs that take place, each with its second and the end of its command, and whose result is told. */
type Row = readonly [what: string, client: Client, runs: readonly string[], told: string];

const AFTER_FIRST = ["killed: second", "killed null", "between: third", "exited 0"];
const LAST = [
  "restarted: second",
  "exited 0",
  "alike: other case",
  "exited 0",
  "alike: with a zero",
  "exited 0",
];
const SILENT: Start = { seen: OPEN, exitCode: 1 };

const ROWS: readonly Row[] = [
  [
    "ends with 1 while it has no answer, and is started again",
    { ...RIGHT, first: [SILENT, {}] },
    ["first: first", "exited 1", "first: first", "exited 0", ...AFTER_FIRST, ...LAST],
    "14.1 restarted",
  ],
  [
    "never has an answer, and is started three times for a purchase",
    { ...RIGHT, first: [SILENT, SILENT, SILENT, {}], between: [SILENT, SILENT, SILENT, {}] },
    [
      "first: first",
      "exited 1",
      "first: first",
      "exited 1",
      "first: first",
      "exited 1",
      "killed: second",
      "killed null",
      "between: third",
      "exited 1",
      "between: third",
      "exited 1",
      "between: third",
      "exited 1",
      ...LAST,
    ],
    "22.3 restarted",
  ],
  [
    "ends with 0 although it has no answer",
    { ...RIGHT, first: [{ seen: OPEN }] },
    ["first: first", "exited 0", ...AFTER_FIRST, ...LAST],
    "12.1 restarted",
  ],
  [
    "ends with 1 although it has an answer",
    { ...RIGHT, first: [{ exitCode: 1 }] },
    ["first: first", "exited 1", ...AFTER_FIRST, ...LAST],
    "12.1 restarted",
  ],
  [
    "takes too long",
    { ...RIGHT, first: [{ ending: "timeout", seen: OPEN }] },
    ["first: first", "timeout null", ...AFTER_FIRST, ...LAST],
    "12.1 restarted",
  ],
  [
    "sends nothing, and ends with 0: its create may come later",
    { first: [{ seen: NOTHING }] },
    ["first: first", "exited 0"],
    "5 first",
  ],
  [
    "sends nothing, and ends with 1",
    { first: [{ seen: NOTHING, exitCode: 1 }] },
    ["first: first", "exited 1"],
    "2 first",
  ],
  [
    "sends a create that is refused",
    { first: [{ seen: NOT_LOST }] },
    ["first: first", "exited 0"],
    "2 first",
  ],
  [
    "cannot be run",
    { first: [{ ending: "not_run", seen: NOTHING }] },
    ["first: first", "not_run null"],
    "0 ",
  ],
  [
    "makes one purchase alone",
    { killed: [{ seen: NOTHING }] },
    ["first: first", "exited 0", "killed: second", "exited 0"],
    "4 killed",
  ],
  [
    "ends before it is killed",
    { killed: [{ seen: OPEN, seconds: 0.5, exitCode: 1 }] },
    ["first: first", "exited 0", "killed: second", "exited 1", "between: third", "exited 0", ...LAST],
    "11.6 restarted",
  ],
];

test("a client is run again, and for the next purchase, as far as it shows something", async () => {
  for (const [what, client, runs, told] of ROWS) {
    const { course, result } = await runDrill({ client });
    const lines = course.map((line) => line.replace(/^\S+ /, ""));
    const ran = lines.slice(1, lines.indexOf("close the drill")).filter((line) => line !== "command");
    const end = course.find((line) => line.endsWith("close the drill")) ?? "";
    const shown = result.end === "success" ? result.value.client.stdout : result.end;
    expect([what, ran, `${end.split(" ")[0]} ${shown}`]).toEqual([what, runs, told]);
  }
  const { result } = await runDrill({ client: { first: [{ ending: "not_run", seen: NOTHING }] } });
  expect(result).toMatchObject({
    value: { client: { ending: "not_run", exitCode: null, stderr: "no shell" } },
  });
});

test("where the sandbox refuses one of its calls, it ends with the reason and runs nothing more", async () => {
  const { calls } = await runDrill({});
  for (const refused of calls.filter(({ name }) => name !== "endLease")) {
    const { result, course } = await runDrill({ refused });
    const error = { code: "state_conflict", message: REFUSED };
    expect([refused, result]).toEqual([refused, { end: "refusal", status: 409, error }]);
    const isOpen = refused.name !== "openLease";
    expect([refused, course]).toEqual([refused, isOpen ? cutOff(course) : []]);
  }
});

/** The course of a drill that ends at this length, with the end of its lease. */
function cutOff(course: readonly string[]): readonly string[] {
  return [
    ...COURSE.slice(0, course.length - 1),
    course.find((line) => line.endsWith("end of the lease")) ?? "",
  ];
}

test("where it is interrupted it kills the command, runs nothing more, and ends its lease", async () => {
  const [opening = "", ...rest] = COURSE.slice(0, -1);
  const unopened = await runDrill({ interruptedAt: opening.replace("0 ", "") });
  expect([unopened.result, unopened.course]).toEqual([{ end: "interrupted" }, [opening]]);
  const acts = rest.map((line) => line.replace(/^\S+ /, ""));
  for (const line of new Set(acts)) {
    const { result, course } = await runDrill({ interruptedAt: line });
    expect([line, result]).toEqual([line, { end: "interrupted" }]);
    expect([line, course]).toEqual([line, cutOff(course)]);
    expect([line, course.at(-2)?.endsWith(line)]).toEqual([line, true]);
  }
  // A pause ends at once.
  const { result, course } = await runDrill({ interruptedAfterMs: 5500 });
  expect([result, course.at(-1)]).toEqual([{ end: "interrupted" }, "5.5 end of the lease"]);
  const running = await runDrill({ interruptedAfterMs: 1500 });
  expect([running.result, running.course]).toEqual([
    { end: "interrupted" },
    [...COURSE.slice(0, 3), "1.5 end of the lease"],
  ]);
});
