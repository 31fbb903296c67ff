import { expect } from "vitest";
import type { CaseName } from "../../src/core/readiness/drills/webhook.ts";
import { CAUSES } from "../../src/core/readiness/drills/judge-causes.ts";
import { NOTES } from "../../src/core/readiness/drills/judge-sentences.ts";
import { JUDGED_INVARIANTS } from "../../src/core/readiness/drills/judged-invariants.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import {
  RECEIVER_CAUSES,
  DRILL_NOTES,
  type DrillCause,
} from "../../src/core/readiness/drills/webhook-advice.ts";
import { right, serve, type Receiver } from "./merchant-receivers.ts";
import { createWire } from "./drill-wire.ts";
import { eventually } from "./eventually.ts";
import { EPHEMERAL } from "./harness.ts";
import { openWebhookSite } from "./webhook-site.ts";
import type { WireAnswerOf } from "./wire.ts";

/** The webhook drill's result as JSON. */
type DrillReport = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly passed: boolean;
  readonly drills: readonly (Omit<WireAnswerOf<"recordDrill">, "id"> & {
    /** Null if nothing was recorded. */
    readonly id: string | null;
    readonly verdict: "passed" | "failed" | "unknown";
    readonly endpoint_id: string;
    readonly url: string;
    readonly order: { readonly id: string; readonly order_id: string } | null;
  })[];
};

/** The steps of a report's drills, with their causes and notes. */
export type ShownDrills = {
  readonly drills: readonly Pick<DrillReport["drills"][number], "steps" | "endpoint_id">[];
};

/** The URL of the drilled receiver. */
export const HOOKS = "http://localhost:3000/hooks";

/** The option that consents to events of orders. */
export const CONSENT = ["--order-view", "http://localhost:3000/orders/{order_id}"] as const;

/** A sandbox with one endpoint and a replaceable receiver. */
export async function openDrillSite(receiver: Receiver = right, start = EPHEMERAL) {
  const site = await openWebhookSite(start);
  const { harness } = site;
  const secrets = { current: "" };
  const wire = createWire();
  const header = { value: "" };
  harness.setFault((request, pass) => {
    header.value = wire.take(request.connection);
    return pass();
  });
  const listen = (next: Receiver, port = 3000): void => {
    const answer = serve(next, {
      secret: () => secrets.current,
      now: () => harness.clock.now(),
      pass: (milliseconds) => harness.clock.advance(milliseconds),
      connection: wire.connection,
    });
    harness.vacate(port);
    harness.occupy(port, {
      answer: (request) =>
        Promise.resolve(
          answer({ ...request, rawHeaders: [...request.rawHeaders, "Connection", header.value] }),
        ),
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    });
  };
  listen(receiver);
  const added = await site.control<WireAnswerOf<"addEndpoint">>("/endpoints", { url: HOOKS });
  secrets.current = added.data.signing_secret;
  const { id } = added.data;

  return {
    ...site,
    id,
    secrets,
    listen,
    /** Creates an order of which the receiver accepts an event, and returns its id. */
    orderAccepted: async (): Promise<string> => {
      const order = await site.order();
      await eventually("the event is accepted", async () =>
        expect((await site.deliveries("?state=succeeded")).length).toBeGreaterThan(0),
      );
      return order;
    },
    /** Runs the drill, and returns its report. */
    drill: async (...args: readonly string[]): Promise<DrillReport & { readonly code: number }> => {
      const { code, stdout, stderr } = await harness.run([
        ..."checklist run webhooks --json".split(" "),
        ...args,
      ]);
      expect(stderr).toBe("");
      return { code, ...(JSON.parse(stdout) as DrillReport) };
    },
  };
}

const CAUSE_TABLES = [CAUSES, NOTES, RECEIVER_CAUSES, DRILL_NOTES, JUDGED_INVARIANTS];
const CAUSE_NAMES = CAUSE_TABLES.flatMap((table) => Object.keys(table));
/** The text of the only cause with other values than the id of the endpoint, before its first value. */
const [UNEXPLAINED = ""] = englishOf(factOf("not_explained", "\0", "\0", "\0", "\0")).split("\0");

/** The name of the cause, note or broken invariant with this text; undefined for other texts. */
export function causeName(text: string, endpointId = ""): string | undefined {
  if (text.startsWith(UNEXPLAINED)) return "not_explained";
  return CAUSE_NAMES.find((name) => englishOf(factOf(name, endpointId)) === text);
}

/** The cause of each step that failed in the first drill of a report. */
export function causesOf(report: ShownDrills): Partial<Record<CaseName, DrillCause>> {
  return adviceOf(report, false);
}

/** The note of each step that passed with a note. */
export function notesOf(report: ShownDrills): Partial<Record<CaseName, DrillCause>> {
  return adviceOf(report, true);
}

function adviceOf({ drills }: ShownDrills, ofPassed: boolean): Partial<Record<CaseName, DrillCause>> {
  const [only] = drills;
  const steps = only?.steps.filter(({ passed, cause }) => passed === ofPassed && cause !== null) ?? [];
  return Object.fromEntries(
    steps.map(({ name, cause }) => [name, causeName(cause ?? "", only?.endpoint_id) ?? cause]),
  );
}
