import * as z from "zod/mini";
import { calibrationRecord } from "../../core/calibration/calibration.ts";
import { checkoutResponse, checkoutWire } from "../../core/checkout/wire-shapes.ts";
import { faultRequest } from "../../core/fault/shapes.ts";
import { hold } from "../../core/webhook/hold.ts";
import { finding, searchResult } from "../../core/judge/shapes.ts";
import { checklist } from "../../core/readiness/shapes.ts";
import { shownDrill } from "../../core/readiness/drill-shapes.ts";

// The results of commands that are not answers of the control API. Fields are named as in the output, or as
// in the code, which the output writes in snake_case.

const text = z.string();
const textOrNull = z.nullable(text);
const numberOrNull = z.nullable(z.number());
const texts = z.array(text);

export const reachableSandbox = z.object({ ok: z.literal(true), baseUrl: text });

export const sandboxStatus = z.object({
  state: z.enum(["running", "starting", "not_responding", "stopped"]),
  running: z.boolean(),
  dataDir: text,
  baseUrl: textOrNull,
  pid: z.nullable(z.int()),
  version: textOrNull,
  startedAt: textOrNull,
  logFile: textOrNull,
  heldBack: textOrNull,
  /** The value of `heldBack` as a fact. */
  hold: z.nullable(hold),
  activeFaults: numberOrNull,
  /** Changes at each start in memory, each reset and each restore. */
  instanceId: textOrNull,
  /** The settings by their names in the control API. */
  settings: z.nullable(z.record(text, z.unknown())),
  /** Why other values are unknown although the sandbox's process is running. */
  problem: textOrNull,
});

export const stoppedShape = z.object({
  ok: z.literal(true),
  stopped: z.boolean(),
  pid: z.nullable(z.int()),
  dataDir: text,
});

export const logLine = z.object({ line: text });

/** Variables by their names, such as CHECKOUT_API_KEY. */
export const variables = z.record(text, text);

/**
 * An order or a session: the fields of the interface, and the service's envelope, whose `data` repeats them for older
 * clients. A create adds the idempotency key, whether the answer was replayed, and the number of requests.
 */
export const checkout = z.extend(checkoutWire, {
  ...checkoutResponse.shape,
  idempotencyKey: z.optional(text),
  replayed: z.optional(z.boolean()),
  tries: z.optional(z.int()),
});

export const dryRun = z.object({
  dryRun: z.literal(true),
  method: text,
  url: text,
  headers: z.record(text, text),
  body: z.unknown(),
});

export const journalEntry = z.object({
  key: text,
  state: text,
  service: text,
  storeId: textOrNull,
  endpoint: text,
  orderId: text,
  attempt: z.nullable(z.int()),
  request: text,
  checkoutId: textOrNull,
  inDoubt: z.boolean(),
  code: textOrNull,
  firstSentAt: text,
  updatedAt: text,
});

export const forgottenKey = z.object({ forgotten: text });

/** A value of a detail may be another detail. Causes of older versions have a text. */
const detailFact = z.object({ fact: text, values: z.array(z.unknown()) });
const cause = z.object({
  code: text,
  message: text,
  proven: z.boolean(),
  detail: z.nullable(z.union([text, detailFact])),
});

export const signatureVerdict = z.object({
  valid: z.boolean(),
  /** The fields of a valid signature. */
  timestamp: z.optional(z.int()),
  ageSeconds: z.optional(z.int()),
  secretOf: z.optional(text),
  endpointId: z.optional(textOrNull),
  /** The fields of an invalid signature. */
  code: z.optional(text),
  message: z.optional(text),
  causes: z.optional(z.array(cause)),
  secretsOf: z.optional(texts),
});

export const signedHeaders = z.record(text, text);

export const sentTests = z.object({
  tests: z.array(z.object({ endpointId: text, url: text, eventId: text })),
});

export const secret = z.object({ signingSecret: text });

const listenReady = z.object({
  event: z.literal("ready"),
  url: text,
  sandbox: textOrNull,
  endpointId: textOrNull,
  eventTypes: texts,
  forward: textOrNull,
  routes: z.array(z.object({ type: text, url: text })),
  replayed: z.int(),
  pid: z.int(),
  version: text,
});
const listenDelivery = z.object({
  event: z.literal("delivery"),
  at: text,
  realAt: text,
  eventId: textOrNull,
  type: textOrNull,
  objectId: textOrNull,
  orderId: textOrNull,
  verified: z.boolean(),
  outcome: z.enum(["forwarded", "not_answered", "duplicate", "not_wanted", "no_target", "not_verified"]),
  code: textOrNull,
  message: textOrNull,
  causes: z.array(cause),
  injectedFault: z.unknown(),
  replay: z.boolean(),
  target: textOrNull,
  targetStatus: z.nullable(z.int()),
  answered: z.int(),
  ms: z.number(),
  nextTryAt: textOrNull,
});
const listenChange = z.object({
  event: z.enum(["disconnected", "reconnected", "disabled"]),
  at: text,
  realAt: text,
  sandbox: z.optional(text),
  reason: z.optional(text),
});
/** One line of `listen`: when it is ready, for each delivery, and when its connection changes. */
export const listenLine = z.union([listenReady, listenDelivery, listenChange]);

const { name, ...judgement } = checklist.shape.items.def.element.shape;
export const checklistReport = z.object({
  verdict: checklist.shape.verdict,
  source: z.enum(["sandbox", "service"]),
  service: text,
  storeId: textOrNull,
  judgedAt: text,
  livemode: z.literal(false),
  calibration: z.nullable(
    z.object({
      service: text,
      at: text,
      confirmed: z.array(z.int()),
      contradicted: z.array(z.int()),
      notObserved: z.array(z.int()),
    }),
  ),
  exploration: z.nullable(z.object({ schedules: z.int(), broken: z.int(), notJudged: z.int(), at: text })),
  items: z.array(z.object({ name, title: text, ...judgement })),
});

const partVerdict = z.enum(["passed", "failed", "unknown"]);
export const runReport = z.object({
  ok: z.boolean(),
  /** The fields of a run of one part. */
  verdict: z.optional(partVerdict),
  drillId: z.optional(textOrNull),
  steps: z.optional(shownDrill.shape.steps),
  seed: text,
  histories: z.int(),
  held: z.int(),
  /** Set if the run was interrupted; the report then has the results so far. */
  interrupted: z.optional(z.literal(true)),
  /** The number of histories that were not run, and a budget that suffices for all histories. */
  notRun: z.optional(z.int()),
  nextBudget: z.optional(text),
  broken: z.array(
    z.object({
      invariant: text,
      cause: text,
      places: texts,
      history: text,
      got: text,
      story: texts,
      rerun: text,
    }),
  ),
  notJudged: z.array(z.object({ invariant: z.null(), history: textOrNull, reason: text, field: textOrNull })),
  items: z.array(
    z.object({
      part: text,
      verdict: partVerdict,
      drillId: textOrNull,
      steps: z.int(),
      failed: z.int(),
      failures: z.array(z.object({ name: text, got: text, cause: textOrNull })),
    }),
  ),
});

/** The webhook drill alone: its result for each endpoint. */
export const webhookDrill = z.object({
  verdict: partVerdict,
  passed: z.boolean(),
  drills: z.array(
    z.extend(z.omit(shownDrill, { id: true, at: true, kind: true }), {
      id: textOrNull,
      kind: z.literal("webhook"),
      at: text,
      verdict: partVerdict,
      endpointId: text,
      url: text,
      order: z.nullable(z.object({ id: text, orderId: text })),
    }),
  ),
});

/** A fault that a search scheduled. The second form is a kill: `faults add` has no such action. */
const scheduledFault = z.union([faultRequest, z.object({ action: text, match: z.unknown() })]);
export const exploration = z.extend(searchResult, {
  notRun: z.int(),
  broken: z.array(z.extend(finding, { faults: z.array(scheduledFault) })),
  advice: z.array(z.object({ faults: z.array(scheduledFault), text })),
});

export const shopTrials = z.object({
  ok: z.boolean(),
  trials: z.array(z.object({ field: text, ok: z.boolean(), text })),
});
export const writtenShop = z.object({ file: text, shop: z.record(text, z.unknown()) });

export const calibration = z.extend(calibrationRecord, {
  /** With `--check`: the decisions whose verdict differs from the record. */
  differences: z.optional(z.array(z.int())),
  /** With `--check`: the decisions that could not be compared this time. */
  notObserved: z.optional(z.array(z.int())),
});

export const chosenStore = z.object({ storeId: text, name: text });

export const newSecrets = z.object({
  apiKey: text,
  signingSecret: text,
  controlToken: text,
  adminToken: text,
});

const settingDifferences = z.array(z.object({ field: text, from: text, to: text }));
export const configFields = { file: text, settings: settingDifferences };
export const validConfig = z.object({ file: text, stores: z.int(), targets: texts });

const valueWithSource = z.object({ value: z.nullable(z.union([text, z.number()])), source: text });
export const settings = z.record(text, valueWithSource);

export const doctorReport = z.object({
  version: text,
  at: text,
  ok: z.boolean(),
  checks: z.array(
    z.object({
      check: text,
      status: z.enum(["ok", "warning", "problem", "unknown"]),
      found: text,
      next: textOrNull,
    }),
  ),
});

export const openedPortal = z.object({
  opened: z.boolean(),
  signInUrl: textOrNull,
  expiresAt: textOrNull,
});

/** The entry of an agent's configuration; for Codex its text and file, because Codex reads no JSON. */
export const agentConfig = z.union([
  z.object({ file: text, text }),
  z.record(text, z.record(text, z.object({ command: text, args: texts }))),
]);

export const completionScript = z.object({ shell: text, script: text });
export const completionFile = z.object({ shell: text, path: text, also: text });
export const removedFiles = z.object({ removed: texts });

export const helpTopic = z.object({ topic: text, summary: text, markdown: text, next: text });

/** The error of any command, on stderr, with further facts such as `status`, `request_id` or `idempotency_key`. */
export const failure = z.object({
  ok: z.literal(false),
  error: z.object({ code: text, message: text }),
  next: text,
  exitCode: z.int(),
  differences: z.optional(z.array(z.object({ field: text, expected: text, live: text }))),
  candidates: z.optional(z.array(z.object({ id: text, about: text }))),
});
