import { expect, test } from "vitest";
import { checklistMarkdown } from "../../src/cli/readiness/text.ts";
import { decideAction, productionOf, type AdminAction } from "../../src/core/readiness/admin-action.ts";
import { checklistJunit } from "../../src/cli/readiness/text.ts";
import { isChecklistReady, type ChecklistReport } from "../../src/core/readiness/report.ts";
import { judgeService } from "../../src/core/readiness/other-service.ts";
import type { Calibration } from "../../src/core/calibration/calibration.ts";
import { checklistOf, judgeItems } from "../../src/core/readiness/checklist.ts";
import { CHECKLIST_ITEMS, ITEM_COUNT_WORD, type ItemName } from "../../src/core/readiness/names.ts";
import { ORDER_CASE_NAMES } from "../../src/core/readiness/drills/webhook.ts";
import { duplicatesSubject, webhookSubject } from "../../src/core/readiness/drills/drill.ts";
import { EVIDENCE_VALIDITY_MS } from "../../src/core/readiness/proof.ts";
import type {
  RecordedAction,
  EndpointFact,
  KeyUseFact,
  ReadinessFacts,
  Waiver,
  ChecklistItem,
} from "../../src/core/readiness/shapes.ts";
import { ITEM_TITLES } from "../../src/core/readiness/names.ts";
import { READINESS_SENTENCES as TEXTS } from "../../src/core/readiness/sentences.ts";
import { english, type Words } from "../../src/core/language.ts";
import type { DrillFact } from "../../src/core/readiness/drill-shapes.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const STORE = "0199a3c4-5d00-7000-8000-000000000001";
const ENDPOINT = "0199a3c4-5d00-7000-8000-000000000002";
const DRILL = "0199a3c4-5d00-7000-8000-000000000003";
const HOOKS = "http://localhost:3000/hooks";
const SUBJECT = webhookSubject({ id: ENDPOINT, url: HOOKS }, "whsec_first");

function act(number: number, action: AdminAction["action"], more: Partial<AdminAction> = {}): RecordedAction {
  const actor = action === "request_production" ? "merchant" : "administrator";
  return {
    number,
    storeId: STORE,
    actor,
    action,
    subject: null,
    note: null,
    at: NOW - 1000 + number,
    ...more,
  };
}

/** Evidence that events of orders were also sent. */
const ORDER_STEPS = ORDER_CASE_NAMES.map((name) => ({
  name,
  passed: true,
  expected: "",
  got: "",
  cause: null,
  reference: null,
}));

function drill(more: Partial<DrillFact> = {}): DrillFact {
  return {
    id: DRILL,
    kind: "webhook",
    subject: SUBJECT,
    passed: true,
    steps: ORDER_STEPS,
    at: NOW - 1000,
    ...more,
  };
}

function endpoint(more: Partial<EndpointFact> = {}): EndpointFact {
  return {
    id: ENDPOINT,
    kind: "url",
    url: HOOKS,
    state: "enabled",
    reason: null,
    cause: null,
    pausedBy: null,
    subject: SUBJECT,
    drill: drill(),
    ...more,
  };
}

function use(more: Partial<KeyUseFact> = {}): KeyUseFact {
  return { key: "order-1001-attempt-1", requestId: "r-1", at: NOW - 1000, ...more };
}

const REQUESTED = act(1, "request_production");
const APPROVED = act(2, "approve_credential");
const OPENED = act(3, "open_gate");
const CAUSE = "it answers 200 to all";
const FAILED_STEP = {
  name: "one_byte_changed",
  passed: false,
  expected: "4xx",
  got: "200",
  cause: CAUSE,
  reference: "event-7",
};
const PASSED_STEP = { ...FAILED_STEP, name: "good_event", passed: true, cause: null };

/** A store whose items all pass without a risk. */
const READY: ReadinessFacts = {
  storeId: STORE,
  now: NOW,
  isActive: true,
  stateSince: NOW - 5000,
  capabilities: [
    { kind: "payment_method", name: "wechat_pay", active: true },
    { kind: "currency", name: "EUR", active: true },
  ],
  production: { request: REQUESTED, approval: APPROVED, gate: OPENED },
  returnOrigins: [{ origin: "https://shop.example", createdAt: NOW - 4000 }],
  endpoints: [endpoint()],
  idempotency: { replay: null, refusal: null, drill: drill({ kind: "idempotency", subject: STORE }) },
  duplicatesDrill: drill({ kind: "duplicates", subject: duplicatesSubject([endpoint()]) }),
  browserReturnDrill: drill({ kind: "browser_return", subject: "http://localhost:3000/thanks" }),
  waivers: [],
};

const idempotency = (more: Partial<ReadinessFacts["idempotency"]>): Partial<ReadinessFacts> => ({
  idempotency: { replay: null, refusal: null, drill: null, ...more },
});
const clientDrill = (more: Partial<DrillFact> = {}): DrillFact =>
  drill({ kind: "idempotency", subject: STORE, ...more });
const comeBack = (more: Partial<DrillFact> = {}): DrillFact =>
  drill({ kind: "browser_return", subject: "http://localhost:3000/thanks", ...more });
const twice = (more: Partial<DrillFact> = {}): DrillFact =>
  drill({ kind: "duplicates", subject: duplicatesSubject([endpoint()]), ...more });
/** Facts with these endpoints, and a duplicates drill of the enabled endpoints with a URL. */
const of = (...endpoints: EndpointFact[]): Partial<ReadinessFacts> => ({
  endpoints,
  duplicatesDrill: twice({
    subject: duplicatesSubject(endpoints.filter(({ kind, state }) => kind === "url" && state === "enabled")),
  }),
});
const drilled = (last: DrillFact | null, more: Partial<EndpointFact> = {}): Partial<ReadinessFacts> =>
  of(endpoint({ drill: last, ...more }));
const OLD = NOW - EVIDENCE_VALIDITY_MS;

/** Facts that differ from the ready store, with the item's status, reason and next command. */
type Row = readonly [
  name: ItemName,
  facts: Partial<ReadinessFacts>,
  status: ChecklistItem["status"],
  reason: Words,
  next: string,
];

/** The failure of a drill begins with the name of the failed step. */
const BY_ONE_BYTE: Words = [FAILED_STEP.name, FAILED_STEP.name];
const CHECK = "checkout checklist run";
const REVOKED = act(4, "revoke_credential");

const ROWS: readonly Row[] = [
  ["production_credential", {}, "pass", TEXTS.approved, "checkout admin log"],
  [
    "production_credential",
    { production: productionOf([]) },
    "fail",
    TEXTS.notRequested,
    "checkout production request",
  ],
  [
    "production_credential",
    { production: productionOf([REQUESTED]) },
    "fail",
    TEXTS.notApproved,
    "checkout admin approve-credential",
  ],
  [
    "production_credential",
    { production: productionOf([REQUESTED, APPROVED, REVOKED]) },
    "fail",
    TEXTS.approvalRevoked,
    "checkout admin approve-credential",
  ],
  // An approval passes without a request.
  [
    "production_credential",
    { production: { ...READY.production, request: null } },
    "pass",
    TEXTS.approved,
    "checkout admin log",
  ],
  ["store_active", {}, "pass", TEXTS.storeActive(2), "checkout capabilities list"],
  ["store_active", { isActive: false }, "fail", TEXTS.storeInactive, "checkout admin activate"],
  [
    "store_active",
    { capabilities: READY.capabilities.map((one) => Object.assign({ ...one }, { active: false })) },
    "fail",
    TEXTS.capabilitiesOff("wechat_pay, EUR"),
    "checkout admin enable-capability wechat_pay",
  ],
  [
    "store_active",
    { capabilities: READY.capabilities.filter(({ kind }) => kind === "currency") },
    "fail",
    TEXTS.capabilityMissing("payment_method"),
    "checkout capabilities list",
  ],
  [
    "store_active",
    { capabilities: [] },
    "fail",
    TEXTS.capabilityMissing("payment_method"),
    "checkout capabilities list",
  ],
  ["return_origins", {}, "pass", TEXTS.origins(1), CHECK],
  [
    "return_origins",
    {
      returnOrigins: ["https://shop.example", "https://b.example"].map((origin) => ({
        origin,
        createdAt: NOW,
      })),
    },
    "pass",
    TEXTS.origins(2),
    CHECK,
  ],
  [
    "return_origins",
    { returnOrigins: [{ origin: "http://localhost:3000", createdAt: NOW }], browserReturnDrill: null },
    "unknown",
    TEXTS.notRun,
    CHECK,
  ],
  [
    "return_origins",
    { returnOrigins: [] },
    "fail",
    TEXTS.noOrigin,
    "checkout return-origins add https://shop.example --path /thanks",
  ],
  [
    "return_origins",
    { browserReturnDrill: null },
    "unknown",
    TEXTS.but(TEXTS.origins(1), TEXTS.invalid(TEXTS.browserReturnDrill, TEXTS.notRun)),
    CHECK,
  ],
  [
    "return_origins",
    { browserReturnDrill: comeBack({ passed: false, steps: [FAILED_STEP] }) },
    "fail",
    TEXTS.failed(TEXTS.browserReturnDrill, BY_ONE_BYTE),
    CHECK,
  ],
  ["return_origins", { browserReturnDrill: comeBack({ at: OLD }) }, "unknown", TEXTS.tooOld, CHECK],
  // A failure stays when the clock is set back: nothing has corrected it since.
  [
    "return_origins",
    { browserReturnDrill: comeBack({ passed: false, at: NOW + 1 }) },
    "fail",
    TEXTS.notFinished,
    CHECK,
  ],
  ["webhook_verification", {}, "pass", TEXTS.webhooksPassed(1), CHECK],
  [
    "webhook_verification",
    { duplicatesDrill: null },
    "unknown",
    TEXTS.invalid(TEXTS.duplicatesDrill, TEXTS.notRun),
    CHECK,
  ],
  [
    "webhook_verification",
    { duplicatesDrill: twice({ passed: false, steps: [FAILED_STEP] }) },
    "fail",
    TEXTS.failed(TEXTS.duplicatesDrill, BY_ONE_BYTE),
    CHECK,
  ],
  ["webhook_verification", { duplicatesDrill: twice({ at: OLD }) }, "unknown", TEXTS.tooOld, CHECK],
  [
    "webhook_verification",
    { duplicatesDrill: twice({ subject: "another endpoint" }) },
    "unknown",
    TEXTS.endpointsChanged,
    CHECK,
  ],
  // A failure outweighs an unknown result, in any drill.
  [
    "webhook_verification",
    { ...drilled(null), duplicatesDrill: twice({ passed: false, steps: [FAILED_STEP] }) },
    "fail",
    TEXTS.failed(TEXTS.duplicatesDrill, BY_ONE_BYTE),
    CHECK,
  ],
  [
    "webhook_verification",
    of(),
    "fail",
    TEXTS.noEndpoint,
    "checkout endpoints add http://localhost:3000/hooks",
  ],
  // A listener belongs to a developer, and is not an endpoint of production.
  [
    "webhook_verification",
    of(endpoint({ kind: "listener" })),
    "fail",
    TEXTS.noEndpoint,
    "checkout endpoints add http://localhost:3000/hooks",
  ],
  [
    "webhook_verification",
    of(endpoint({ state: "disabled" })),
    "fail",
    TEXTS.noEndpointEnabled,
    `checkout endpoints enable ${ENDPOINT}`,
  ],
  [
    "webhook_verification",
    of(endpoint({ state: "paused" })),
    "fail",
    TEXTS.noEndpointEnabled,
    `checkout endpoints enable ${ENDPOINT}`,
  ],
  // An endpoint counts while a drill holds it.
  [
    "webhook_verification",
    { endpoints: [endpoint({ state: "paused", pausedBy: "drill" })] },
    "pass",
    TEXTS.webhooksPassed(1),
    CHECK,
  ],
  ["webhook_verification", drilled(null), "unknown", TEXTS.notRun, CHECK],
  [
    "webhook_verification",
    drilled(drill({ passed: false, steps: [PASSED_STEP, FAILED_STEP] })),
    "fail",
    TEXTS.stepCause(FAILED_STEP.name, [CAUSE, CAUSE]),
    CHECK,
  ],
  ["webhook_verification", drilled(drill({ passed: false })), "fail", TEXTS.notFinished, CHECK],
  ["webhook_verification", drilled(drill({ at: OLD + 1 })), "pass", TEXTS.webhooksPassed(1), CHECK],
  ["webhook_verification", drilled(drill({ at: OLD })), "unknown", TEXTS.tooOld, CHECK],
  ["webhook_verification", drilled(drill({ at: OLD - 1 })), "unknown", TEXTS.tooOld, CHECK],
  ["webhook_verification", drilled(drill({ passed: false, at: OLD - 1 })), "unknown", TEXTS.tooOld, CHECK],
  ["webhook_verification", drilled(drill({ at: NOW })), "pass", TEXTS.webhooksPassed(1), CHECK],
  ["webhook_verification", drilled(drill({ at: NOW + 1 })), "unknown", TEXTS.inTheFuture, CHECK],
  [
    "webhook_verification",
    drilled(drill(), { subject: webhookSubject({ id: ENDPOINT, url: HOOKS }, "whsec_second") }),
    "unknown",
    TEXTS.endpointChanged,
    CHECK,
  ],
  [
    "webhook_verification",
    drilled(drill(), { subject: webhookSubject({ id: ENDPOINT, url: `${HOOKS}/2` }, "whsec_first") }),
    "unknown",
    TEXTS.endpointChanged,
    CHECK,
  ],
  // A drill proves one endpoint, and a failure outweighs an unknown result.
  ["webhook_verification", of(endpoint(), endpoint()), "pass", TEXTS.webhooksPassed(2), CHECK],
  ["webhook_verification", of(endpoint(), endpoint({ drill: null })), "unknown", TEXTS.notRun, CHECK],
  [
    "webhook_verification",
    of(endpoint({ drill: null }), endpoint({ drill: drill({ passed: false, steps: [FAILED_STEP] }) })),
    "fail",
    [CAUSE, CAUSE],
    CHECK,
  ],
  [
    "webhook_verification",
    of(endpoint(), endpoint({ drill: null, state: "disabled" }), endpoint({ drill: null, kind: "listener" })),
    "pass",
    TEXTS.webhooksPassed(1),
    CHECK,
  ],
  ["idempotency_replay", {}, "pass", TEXTS.idempotencyPassed, CHECK],
  ["idempotency_replay", idempotency({}), "unknown", TEXTS.notRun, CHECK],
  // Anybody could have sent the requests in the log.
  ["idempotency_replay", idempotency({ replay: use() }), "unknown", TEXTS.notRun, CHECK],
  ["idempotency_replay", idempotency({ refusal: use() }), "unknown", TEXTS.notRun, CHECK],
  ["idempotency_replay", idempotency({ replay: use(), refusal: use() }), "unknown", TEXTS.notRun, CHECK],
  ["idempotency_replay", idempotency({ drill: clientDrill() }), "pass", TEXTS.idempotencyPassed, CHECK],
  [
    "idempotency_replay",
    idempotency({ drill: clientDrill({ at: OLD + 1 }) }),
    "pass",
    TEXTS.idempotencyPassed,
    CHECK,
  ],
  ["idempotency_replay", idempotency({ drill: clientDrill({ at: OLD }) }), "unknown", TEXTS.tooOld, CHECK],
  [
    "idempotency_replay",
    idempotency({ drill: clientDrill({ at: NOW + 1 }) }),
    "unknown",
    TEXTS.inTheFuture,
    CHECK,
  ],
  [
    "idempotency_replay",
    idempotency({ drill: clientDrill({ subject: "another" }) }),
    "unknown",
    TEXTS.storeChanged,
    CHECK,
  ],
  [
    "idempotency_replay",
    idempotency({ drill: clientDrill({ passed: false, steps: [FAILED_STEP] }) }),
    "fail",
    TEXTS.failed(TEXTS.idempotencyDrill, BY_ONE_BYTE),
    CHECK,
  ],
  // Later observations do not outweigh a failed drill.
  [
    "idempotency_replay",
    idempotency({
      replay: use({ at: NOW }),
      refusal: use({ at: NOW }),
      drill: clientDrill({ passed: false, at: NOW - 5 }),
    }),
    "fail",
    TEXTS.failed(TEXTS.idempotencyDrill, TEXTS.notFinished),
    CHECK,
  ],
  ["production_gate", {}, "pass", TEXTS.gateOpen, "checkout admin log"],
  [
    "production_gate",
    { production: productionOf([]) },
    "fail",
    TEXTS.gateNeverOpened,
    "checkout production request",
  ],
  [
    "production_gate",
    { production: productionOf([APPROVED]) },
    "fail",
    TEXTS.gateNeverOpened,
    "checkout production request",
  ],
  [
    "production_gate",
    { production: productionOf([REQUESTED]) },
    "fail",
    TEXTS.gateNeverOpened,
    "checkout admin approve-credential",
  ],
  [
    "production_gate",
    { production: productionOf([REQUESTED, APPROVED]) },
    "fail",
    TEXTS.gateNeverOpened,
    "checkout admin open-gate",
  ],
  [
    "production_gate",
    { production: productionOf([REQUESTED, APPROVED, OPENED, act(4, "close_gate")]) },
    "fail",
    TEXTS.gateClosed,
    "checkout admin open-gate",
  ],
  [
    "production_gate",
    { production: productionOf([REQUESTED, APPROVED, OPENED, REVOKED]) },
    "fail",
    TEXTS.gateClosedByRevocation,
    "checkout admin approve-credential",
  ],
  // A new approval does not open the gate.
  [
    "production_gate",
    { production: productionOf([REQUESTED, APPROVED, OPENED, REVOKED, act(5, "approve_credential")]) },
    "fail",
    TEXTS.gateClosedByRevocation,
    "checkout admin open-gate",
  ],
];

test("the facts about a store determine a checklist item's status, reason and next command, and the checklist is ready only if every item passes", () => {
  expect(judgeItems(READY).verdict).toBe("ready");
  const seen = new Set<string>();
  for (const [name, facts, status, reason, next] of ROWS) {
    const { verdict, items } = judgeItems({ ...READY, ...facts });
    const found = items.find((item) => item.name === name);
    expect([name, found]).toEqual([
      name,
      {
        name,
        status,
        reason: expect.stringContaining(english(reason)),
        evidence: expect.anything(),
        assumptions: [],
        next,
      },
    ]);
    expect([name, reason, verdict]).toEqual([name, reason, status === "pass" ? "ready" : "not_ready"]);
    seen.add(`${name} ${status}`);
  }
  expect(new Set(ROWS.map(([name]) => name))).toEqual(new Set(CHECKLIST_ITEMS));
  for (const name of CHECKLIST_ITEMS) expect(seen).toContain(`${name} pass`);
});

test("every checklist item has a reason and a complete next command", () => {
  for (const [, differing] of ROWS) {
    const { items } = judgeItems({ ...READY, ...differing });
    expect(items.map(({ name }) => name)).toEqual(CHECKLIST_ITEMS);
    for (const { reason, next } of items) {
      expect(reason).not.toBe("");
      expect(next).toMatch(/^checkout [a-z]/);
      expect(next).not.toMatch(/[<>]/);
    }
  }
});

const WEBHOOK_DRILL = TEXTS.webhookDrill(JSON.stringify(HOOKS));
const passedText = (title: Words): string =>
  english(TEXTS.ended(title, true, ORDER_STEPS.length, ORDER_STEPS.length));

test("the evidence of a checklist item has the ids, times and steps of the observations", () => {
  const failed = drill({ passed: false, steps: [PASSED_STEP, FAILED_STEP] });
  const facts: ReadinessFacts = {
    ...READY,
    ...drilled(failed),
    ...idempotency({ replay: use(), refusal: use({ requestId: "r-2" }) }),
    isActive: false,
    production: productionOf([REQUESTED, act(2, "approve_credential", { note: "seen and signed" })]),
    capabilities: [...READY.capabilities, { kind: "currency", name: "JPY", active: false }],
  };
  const evidence = Object.fromEntries(judgeItems(facts).items.map((item) => [item.name, item.evidence]));
  expect(evidence).toMatchObject({
    production_credential: [
      {
        what: english(TEXTS.act("administrator", "approve_credential", "seen and signed")),
        reference: "act 2",
        at: NOW - 998,
      },
    ],
    store_active: [
      { what: english(TEXTS.store(false)), reference: STORE, at: NOW - 5000 },
      { what: english(TEXTS.capabilities("payment_method", true, "wechat_pay")), reference: null, at: null },
      { what: english(TEXTS.capabilities("currency", true, "EUR")), reference: null, at: null },
      { what: english(TEXTS.capabilities("currency", false, "JPY")), reference: null, at: null },
    ],
    return_origins: [
      { what: "https://shop.example", reference: null, at: NOW - 4000 },
      {
        what: passedText(TEXTS.browserReturnDrill),
        reference: DRILL,
        at: NOW - 1000,
      },
    ],
    webhook_verification: [
      { what: english(TEXTS.ended(WEBHOOK_DRILL, false, 1, 2)), reference: DRILL, at: NOW - 1000 },
      {
        what: english(TEXTS.step(FAILED_STEP.name, ["4xx", ""], ["200", ""])),
        reference: "event-7",
        at: NOW - 1000,
      },
      {
        what: passedText(TEXTS.duplicatesDrill),
        reference: DRILL,
        at: NOW - 1000,
      },
    ],
    idempotency_replay: [
      {
        what: english(TEXTS.keyReplayed("order-1001-attempt-1")),
        reference: "r-1",
        at: NOW - 1000,
      },
      {
        what: english(TEXTS.keyRefused("order-1001-attempt-1")),
        reference: "r-2",
        at: NOW - 1000,
      },
    ],
    production_gate: [],
  });
});

test("the evidence of the checklist lists all capabilities of a kind and all paused endpoints", () => {
  const evidenceOf = (name: ItemName, more: Partial<ReadinessFacts>) =>
    judgeItems({ ...READY, ...more }).items.find((item) => item.name === name)?.evidence;
  const capabilities = ["EUR", "JPY"].map((one) => ({ kind: "currency", name: one, active: true }) as const);
  expect(evidenceOf("production_credential", {})).toEqual([
    {
      what: english(TEXTS.act("administrator", "approve_credential", null)),
      reference: "act 2",
      at: NOW - 998,
    },
  ]);
  expect(evidenceOf("store_active", { capabilities })).toContainEqual({
    what: english(TEXTS.capabilities("currency", true, "EUR, JPY")),
    reference: null,
    at: null,
  });
  expect(evidenceOf("return_origins", { returnOrigins: [] })).toEqual([]);
  const paused = [
    endpoint({ state: "paused", reason: "20 deliveries failed" }),
    endpoint({ state: "paused", id: STORE }),
    endpoint({ state: "disabled" }),
  ];
  expect(evidenceOf("webhook_verification", { endpoints: paused })).toEqual([
    {
      what: english(TEXTS.endpointPaused(HOOKS, ["20 deliveries failed", ""])),
      reference: ENDPOINT,
      at: null,
    },
    { what: english(TEXTS.endpointPaused(HOOKS, ["", ""])), reference: STORE, at: null },
  ]);
});

test("the evidence of a drill shows the first five failed steps, and counts the others", () => {
  const steps = Array.from({ length: 15 }, (_, number) => ({ ...FAILED_STEP, name: `step_${number}` }));
  const { items } = judgeItems({ ...READY, ...drilled(drill({ passed: false, steps })) });
  const shown = items.find(({ name }) => name === "webhook_verification")?.evidence ?? [];
  expect(shown.map(({ what }) => what)).toEqual([
    english(TEXTS.ended(WEBHOOK_DRILL, false, 0, 15)),
    ...[0, 1, 2, 3, 4].map((number) => expect.stringMatching(`^step_${number}:`)),
    english(TEXTS.moreFailed(10)),
    passedText(TEXTS.duplicatesDrill),
  ]);
});

test("the checklist is ready with risks if an item passes with a risk, and not ready if an item fails", () => {
  const origins = (...all: string[]): Partial<ReadinessFacts> => ({
    returnOrigins: all.map((origin) => ({ origin, createdAt: NOW })),
  });
  const rows: readonly (readonly [Partial<ReadinessFacts>, string, number])[] = [
    [origins("http://localhost:3000"), "ready_with_risks", 1],
    [origins("http://127.0.0.1", "http://[::1]:8080", "https://localhost:3000"), "ready_with_risks", 1],
    [origins("http://localhost:3000", "https://shop.example"), "ready", 0],
    [origins("https://localhost.example", "http://localhost"), "ready", 0],
    [origins("http://shop.example"), "ready_with_risks", 1],
    [{ ...origins("http://localhost:3000"), browserReturnDrill: null }, "not_ready", 0],
    // A drilled receiver on this machine is not a risk.
    [drilled(drill()), "ready", 0],
    // Events of orders were not sent, or not all of them.
    [drilled(drill({ steps: [] })), "ready_with_risks", 1],
    [drilled(drill({ steps: ORDER_STEPS.slice(1) })), "ready_with_risks", 1],
    [drilled(drill({ steps: [FAILED_STEP], passed: false })), "not_ready", 0],
    [of(endpoint({ drill: drill({ steps: [] }) }), endpoint()), "ready_with_risks", 1],
    [{ ...origins("http://localhost:3000"), isActive: false }, "not_ready", 1],
    [origins(), "not_ready", 0],
  ];
  for (const [facts, verdict, risks] of rows) {
    const judged = judgeItems({ ...READY, ...facts });
    const leaning = judged.items.flatMap(({ assumptions }) => assumptions);
    expect([facts, judged.verdict, leaning.length]).toEqual([facts, verdict, risks]);
  }
  const { items } = judgeItems({ ...READY, isActive: false, ...origins("http://localhost:3000") });
  const only = (name: ItemName) => checklistOf(items.filter((item) => item.name === name)).verdict;
  expect([only("production_gate"), only("return_origins"), only("store_active")]).toEqual([
    "ready",
    "ready_with_risks",
    "not_ready",
  ]);
});

test("a checklist item that passes with a risk states the remedy", () => {
  const local = { returnOrigins: [{ origin: "http://localhost:3000", createdAt: NOW }] };
  const waive = (one: Waiver["drill"]) => ({ waivers: [{ drill: one, reason: "later", at: NOW - 1 }] });
  const waived = (name: string) => TEXTS.waivedUntil(name, "2026-01-22T11:59:59.999Z", "later");
  const rows: readonly (readonly [
    Partial<ReadinessFacts>,
    ItemName,
    reason: Words,
    next: string,
    risk: Words,
  ])[] = [
    [
      local,
      "return_origins",
      TEXTS.origins(1),
      "checkout return-origins add https://shop.example --path /thanks",
      TEXTS.originsOnlyLocal,
    ],
    [
      { ...waive("browser_return"), browserReturnDrill: null },
      "return_origins",
      TEXTS.origins(1),
      CHECK,
      waived("browser-return"),
    ],
    [
      drilled(drill({ steps: [] })),
      "webhook_verification",
      TEXTS.webhooksPassed(1),
      CHECK,
      TEXTS.sentTestOnly(WEBHOOK_DRILL),
    ],
    // The waiver is the stated risk, even if the drill that it replaces had left a risk too.
    [
      { ...drilled(drill({ steps: [], at: OLD })), ...waive("webhook") },
      "webhook_verification",
      TEXTS.waived(WEBHOOK_DRILL),
      CHECK,
      waived("webhooks"),
    ],
    [
      { duplicatesDrill: null, ...waive("duplicates") },
      "webhook_verification",
      TEXTS.waived(TEXTS.duplicatesDrill),
      CHECK,
      waived("duplicates"),
    ],
  ];
  for (const [facts, name, reason, next, risk] of rows) {
    const found = judgeItems({ ...READY, ...facts }).items.find((item) => item.name === name);
    const assumptions = [english(risk)];
    expect(found).toMatchObject({ status: "pass", reason: english(reason), next, assumptions });
  }
  const both = { ...local, ...waive("browser_return"), browserReturnDrill: null };
  const { items } = judgeItems({ ...READY, ...both });
  expect(items.find(({ name }) => name === "return_origins")).toMatchObject({
    next: CHECK,
    assumptions: [TEXTS.originsOnlyLocal, waived("browser-return")].map(english),
  });
});

test("a waiver replaces a drill for 7 days, as a risk, unless the drill fails after the waiver", () => {
  const waive = (more: Partial<Waiver> = {}): Partial<ReadinessFacts> => ({
    waivers: [{ drill: "browser_return", reason: "no return page", at: NOW - 1000, ...more }],
  });
  const missing = { browserReturnDrill: null };
  const bad = (at: number): Partial<ReadinessFacts> => ({
    browserReturnDrill: comeBack({ passed: false, at }),
  });
  const rows: readonly (readonly [Partial<ReadinessFacts>, string, number])[] = [
    [{ ...missing, ...waive() }, "ready_with_risks", 1],
    [{ ...missing, ...waive({ at: OLD + 1 }) }, "ready_with_risks", 1],
    [{ ...missing, ...waive({ at: OLD }) }, "not_ready", 0],
    [{ ...missing, ...waive({ at: NOW + 1 }) }, "not_ready", 0],
    // The waiver of another drill.
    [{ ...missing, ...waive({ drill: "duplicates" }) }, "not_ready", 0],
    [{ browserReturnDrill: comeBack({ at: OLD }), ...waive() }, "ready_with_risks", 1],
    [{ ...bad(NOW - 1001), ...waive() }, "ready_with_risks", 1],
    [{ ...bad(NOW - 999), ...waive() }, "not_ready", 0],
    [{ ...bad(NOW + 1), ...waive() }, "not_ready", 0],
    // A passed drill needs no waiver.
    [waive(), "ready", 0],
    [{ duplicatesDrill: null, ...waive({ drill: "duplicates" }) }, "ready_with_risks", 1],
    [{ ...drilled(null), ...waive({ drill: "webhook" }) }, "ready_with_risks", 1],
    [{ ...idempotency({}), ...waive({ drill: "idempotency" }) }, "ready_with_risks", 1],
    // Without an endpoint or an origin a waiver replaces nothing.
    [{ ...of(), ...waive({ drill: "webhook" }) }, "not_ready", 0],
    [{ returnOrigins: [], ...missing, ...waive() }, "not_ready", 0],
  ];
  for (const [facts, verdict, risks] of rows) {
    const judged = judgeItems({ ...READY, ...facts });
    const leaning = judged.items.flatMap(({ assumptions }) => assumptions);
    expect([facts, judged.verdict, leaning.length]).toEqual([facts, verdict, risks]);
  }
  const [risk] = judgeItems({ ...READY, ...missing, ...waive() }).items.flatMap((item) => item.assumptions);
  expect(risk).toBe(
    english(TEXTS.waivedUntil("browser-return", "2026-01-22T11:59:59.000Z", "no return page")),
  );
});

test("the Markdown report of the checklist lists the titles of all items, in the order of the checklist", () => {
  const titles = CHECKLIST_ITEMS.map((name) => english(ITEM_TITLES[name]));
  const report = {
    ...judgeItems(READY),
    source: "sandbox",
    service: "",
    storeId: STORE,
    judgedAt: NOW,
    calibration: null,
  } as const;
  const shown = [...checklistMarkdown(report).matchAll(/^✓ (.+) \(\w+: pass\)$/gm)];
  expect(shown.map(([, title]) => title)).toEqual(titles);
  expect(["five", "six", "seven", "eight"].indexOf(ITEM_COUNT_WORD) + 5).toBe(CHECKLIST_ITEMS.length);
});

test("the checklist's JUnit file has a failure or error exactly if the checklist is not ready or has forbidden risks", () => {
  const rows: readonly (readonly [Partial<ReadinessFacts>, boolean, boolean])[] = [
    [{}, false, true],
    [{}, true, true],
    [{ returnOrigins: [{ origin: "http://localhost:3000", createdAt: NOW }] }, false, false],
    [{ returnOrigins: [{ origin: "http://localhost:3000", createdAt: NOW }] }, true, true],
    [{ isActive: false }, true, false],
    [{ browserReturnDrill: null }, true, false],
  ];
  for (const [facts, allowRisks, ready] of rows) {
    const report = {
      ...judgeItems({ ...READY, ...facts }),
      source: "sandbox",
      service: "http://127.0.0.1:4242/v1",
      storeId: STORE,
      judgedAt: NOW,
      calibration: null,
    } as const;
    expect([facts, allowRisks, isChecklistReady(report, { allowRisks })]).toEqual([facts, allowRisks, ready]);
    const xml = checklistJunit(report, { allowRisks });
    const faults = xml.match(/<(failure|error) /g) ?? [];
    expect([facts, allowRisks, faults.length === 0]).toEqual([facts, allowRisks, ready]);
    const [, failures, errors] = /failures="(\d+)" errors="(\d+)"/.exec(xml) ?? [];
    expect(Number(failures) + Number(errors)).toBe(faults.length);
  }
});

test("an administrative action is refused if it changes nothing, has an unknown subject, or opens the gate without a request or approval", () => {
  const request = act(1, "request_production");
  const rows: readonly (readonly [RecordedAction[], AdminAction["action"], string, string?])[] = [
    [[], "request_production", ""],
    [[request], "request_production", "production_is_requested"],
    [[request, APPROVED], "request_production", "production_is_requested"],
    [[request, APPROVED, OPENED], "request_production", "nothing_to_request"],
    // After an approval was revoked or the gate closed, production can be requested again.
    [[request, APPROVED, OPENED, act(4, "close_gate")], "request_production", ""],
    [[request, APPROVED, REVOKED], "request_production", ""],
    [
      [request, APPROVED, REVOKED, act(5, "request_production")],
      "request_production",
      "production_is_requested",
    ],
    [[], "approve_credential", ""],
    [[APPROVED], "approve_credential", "credential_is_approved"],
    [[APPROVED, REVOKED], "approve_credential", ""],
    [[], "revoke_credential", "nothing_to_revoke"],
    [[APPROVED], "revoke_credential", ""],
    [[APPROVED, REVOKED], "revoke_credential", "nothing_to_revoke"],
    [[], "activate", "store_is_active"],
    [[], "deactivate", ""],
    [[], "open_gate", "production_not_requested"],
    [[APPROVED], "open_gate", "production_not_requested"],
    [[request], "open_gate", "gate_stays_closed"],
    [[request, APPROVED], "open_gate", ""],
    [[request, APPROVED, OPENED], "open_gate", "gate_open"],
    [[request, APPROVED, OPENED, REVOKED], "open_gate", "gate_stays_closed"],
    [[request, APPROVED, OPENED, act(4, "close_gate")], "open_gate", ""],
    [[], "close_gate", "gate_is_closed"],
    [[request, APPROVED, OPENED], "close_gate", ""],
    [[request, APPROVED, OPENED, REVOKED], "close_gate", "gate_is_closed"],
    [[], "enable_capability", "capability_is_active", "EUR"],
    [[], "disable_capability", "", "EUR"],
    [[], "enable_capability", "", "JPY"],
    [[], "disable_capability", "capability_is_inactive", "JPY"],
    [[], "enable_capability", "no_capability_to_enable", "eur"],
    [[], "disable_capability", "no_capability", "__proto__"],
    [[], "approve_price", "", "new"],
    [[], "approve_price", "price_is_approved", "tea"],
    [[], "approve_price", "price_retired", "old"],
    [[], "approve_price", "no_price", "__proto__"],
    [[], "approve_price", "no_price", "Tea"],
    [[], "revoke_price", "", "tea"],
    [[], "revoke_price", "price_is_not_approved", "new"],
    [[], "revoke_price", "no_price", "EUR"],
  ];
  const capabilities = [
    { kind: "currency", name: "EUR", active: true },
    { kind: "currency", name: "JPY", active: false },
  ] as const;
  const prices = [
    { id: "new", approved: false, retired: false },
    { id: "old", approved: false, retired: true },
    { id: "tea", approved: true, retired: false },
  ];
  for (const [acts, action, refused, subject = null] of rows) {
    const standing = { isActive: true, capabilities, prices, production: productionOf(acts) };
    const decided = decideAction(standing, { action, subject });
    const fact = decided.ok ? "" : decided.refusal.told?.fact;
    const before = acts.map((one) => one.action);
    expect([before, action, fact]).toEqual([before, action, refused]);
    const code = /^no_(capability|price)/.test(refused) ? "not_found" : "state_conflict";
    if (!decided.ok) expect(decided.refusal.code).toBe(code);
  }
  const inactive = { isActive: false, capabilities, prices, production: productionOf([]) };
  expect(decideAction(inactive, { action: "activate", subject: null }).ok).toBe(true);
  expect(decideAction(inactive, { action: "deactivate", subject: null }).ok).toBe(false);
});

const COMMAND = "checkout calibrate --base-url https://pay.example/v1";
type Verdict = Calibration["assumptions"][number]["verdict"];
const recordOf = (verdicts: Readonly<Record<number, Verdict>>): Calibration => ({
  service: "https://pay.example/v1",
  at: new Date(NOW).toISOString(),
  assumptions: Object.entries(verdicts).map(([decision, verdict]) => ({
    decision: Number(decision),
    verdict,
    expected: "what was expected",
    request: { method: "POST", path: "/orders", headers: {}, body: null },
    answer: verdict === "not_observed" ? null : { status: 201, headers: {}, body: null },
  })),
});

test("the checklist of another service passes an item only if the calibration record confirms the item's decision", () => {
  // Rows with the same group have the same reason; other rows have other reasons.
  const rows: readonly (readonly [Calibration | undefined, ItemName, string, group: string])[] = [
    [undefined, "production_credential", "unknown", "no record"],
    [undefined, "store_active", "unknown", "no record"],
    [undefined, "idempotency_replay", "unknown", "no record"],
    [recordOf({}), "production_credential", "unknown", "a test credential"],
    [recordOf({}), "store_active", "unknown", "no order"],
    [recordOf({}), "idempotency_replay", "unknown", "no key"],
    [recordOf({ 20: "confirmed" }), "store_active", "unknown", "an order"],
    [recordOf({ 20: "contradicted" }), "store_active", "unknown", "no order"],
    [recordOf({ 5: "confirmed" }), "idempotency_replay", "pass", "a key"],
    [recordOf({ 5: "contradicted" }), "idempotency_replay", "unknown", "no key"],
    [recordOf({ 5: "not_observed" }), "idempotency_replay", "unknown", "no key"],
  ];
  const reasons = new Map<string, string | undefined>();
  for (const [record, name, status, group] of rows) {
    const { verdict, items } = judgeService(record, COMMAND);
    const found = items.find((item) => item.name === name);
    const reason = reasons.get(group) ?? found?.reason;
    reasons.set(group, reason);
    expect([found?.name, found?.status, found?.reason]).toEqual([name, status, reason]);
    expect(verdict).toBe("not_ready");
    expect(items.map((item) => item.name)).toEqual(CHECKLIST_ITEMS);
    for (const hidden of ["return_origins", "webhook_verification", "production_gate"]) {
      const item = items.find((one) => one.name === hidden);
      expect(item?.status).toBe("unknown");
    }
    for (const { next } of items) expect(next).toMatch(/^checkout [a-z]/);
  }
  expect(new Set(reasons.values()).size).toBe(reasons.size);
});

test("a checklist item that passes because of a calibration record has a risk, and its evidence cites the decision", () => {
  const { items } = judgeService(recordOf({ 5: "confirmed", 20: "contradicted" }), COMMAND);
  const replay = items.filter(({ name }) => name === "idempotency_replay");
  expect(checklistOf(replay).verdict).toBe("ready_with_risks");
  expect(items.flatMap(({ evidence }) => evidence.map(({ what, at }) => [what, at]))).toEqual([
    [expect.stringMatching(/\b20 contradicted .*what was expected.* POST \/orders.* 201$/), NOW],
    [expect.stringMatching(/\b5 confirmed .*what was expected.* POST \/orders.* 201$/), NOW],
  ]);
});

test("a checklist report escapes untrusted markup and mentions, and contains no secret", () => {
  const hostile = `</failure><b>&"'\`\`\`\`| @team [x](http://evil.example) svc_test_abcdefgh \u202e\u0007\ufffe]]>`;
  const item: ChecklistItem = {
    name: "production_gate",
    status: "fail",
    reason: hostile,
    evidence: [{ what: hostile, reference: hostile, at: NOW }],
    assumptions: [hostile],
    next: hostile,
  };
  const report: ChecklistReport = {
    ...checklistOf([item]),
    source: "service",
    service: hostile,
    storeId: null,
    judgedAt: NOW,
    calibration: { record: { service: hostile, at: new Date(NOW).toISOString(), assumptions: [] }, ageMs: 0 },
  };
  const xml = checklistJunit(report, { allowRisks: false });
  expect(xml).not.toMatch(/<b>|<\/failure><b|abcdefgh|[\u202e\ufffe]|]]>/);
  expect(xml).toContain("&lt;/failure&gt;&lt;b&gt;&amp;&quot;&apos;");
  const markdown = checklistMarkdown(report);
  expect(markdown).not.toMatch(/abcdefgh|[\u202e\ufffe]/);
  expect(markdown.replace(/^(`{5,})text\n[^]+\n\1$/m, "code")).toBe("## Launch checklist\n\ncode");
  for (const published of [xml, markdown]) expect(published).not.toContain("\u0007");
});
