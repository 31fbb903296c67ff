import { expect, test } from "vitest";
import { handledDeliveryLine } from "../../src/cli/listen/report.ts";
import { forwardDelivery } from "../../src/client/listen/forward.ts";
import type { HandledDelivery } from "../../src/client/listen/listener.ts";
import { causeText } from "../../src/core/explain/delivery.ts";
import { causeOf, falseSuccessCause } from "../../src/core/explain/delivery-causes.ts";
import { english } from "../../src/core/language.ts";
import { printable } from "../../src/core/text.ts";
import { DEFAULT_HEADER_NAMES } from "../../src/core/webhook/signature.ts";
import { send } from "../../src/world/network.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { ODD_ENDPOINTS, SLOW, TRUSTED, VAGUE, type OddEndpoint } from "../support/odd-endpoints.ts";

const REQUEST: HandledDelivery["request"] = {
  method: "POST",
  target: "/",
  rawHeaders: ["Content-Type", "application/json"],
  body: Buffer.from("{}"),
};
const plain = (text: string): string => text;
const STYLE = { bold: plain, dim: plain, red: plain, yellow: plain, green: plain, cyan: plain };
/** The options that remove a cause. */
const OPTIONS: Readonly<Record<string, RegExp>> = {
  tls_untrusted: /--ca .* --insecure/,
  tls_wrong_name: /checkout listen --insecure/,
};

/** A status that `listen` cannot pass on counts as no answer. */
const OF_LISTEN: Readonly<Record<string, string>> = { 600: "invalid_head" };

/** The lines of `listen` about a delivery to this target. */
async function forwarded(row: OddEndpoint) {
  const [, open, code] = row;
  const url = await open();
  const result = await forwardDelivery(
    { send, resolve: () => Promise.resolve([]) },
    { request: REQUEST, url, headerNames: DEFAULT_HEADER_NAMES },
    {
      targets: { allowedHosts: ["nowhere.example"], ownPort: 1 },
      headers: [],
      timeoutMs: SLOW.has(code ?? "") ? 500 : 20_000,
      tls: TRUSTED.includes(row) ? { ca: CERTIFICATE } : undefined,
    },
  );
  const lines = handledDeliveryLine(
    {
      at: 0,
      storeAt: null,
      request: REQUEST,
      claims: { eventId: null, type: null, orderId: null, objectId: null },
      isVerified: true,
      fault: undefined,
      injectedFault: undefined,
      result: { ...result, isReplay: false },
      status: 502,
      milliseconds: 1,
      nextAttempt: undefined,
    },
    {
      style: STYLE,
      wrap: plain,
      typeWidth: 1,
      plan: { eventTypes: [], routes: [], defaultUrl: url } as unknown as Parameters<
        typeof handledDeliveryLine
      >[1]["plan"],
    },
  );
  return { result, lines };
}

test(`listen reports the cause next to the error for each of ${ODD_ENDPOINTS.length} odd targets`, async () => {
  const allowed = ODD_ENDPOINTS.filter(([, , code]) => code !== "target_forbidden");
  expect(allowed.length).toBeGreaterThan(80);
  for (const row of allowed) {
    const [name, , stated] = row;
    const code = OF_LISTEN[name] ?? stated;
    const { result, lines } = await forwarded(row);
    const outcome =
      result.kind === "answered"
        ? {
            url: result.url,
            status: result.status,
            error: null,
            answer: Buffer.from(result.answer),
            facts: result.facts,
          }
        : {
            url: result.url,
            status: null,
            error: result.failure as "unreachable",
            answer: null,
            facts: result.facts,
          };
    const cause = causeOf(outcome) ?? falseSuccessCause(outcome);
    expect([name, cause?.code, lines]).toEqual([name, code, lines]);
    const said = lines
      .split("\n")
      .slice(1)
      .filter((line) => line.startsWith("  →"));
    expect([name, said.length]).toEqual([name, code === undefined ? 0 : 1]);
    if (code === undefined) continue;
    expect([name, said[0]]).toEqual([
      name,
      expect.stringContaining(`→ ${causeText({ ...outcome, fault: null }, english)}`),
    ]);
    if (result.kind === "unanswered")
      expect([name, lines]).toEqual([name, expect.stringContaining(printable(result.message))]);
    expect([name, said[0]]).toEqual([name, expect.stringMatching(OPTIONS[code] ?? /^(?!.*--insecure)/)]);
  }
  const due = allowed.flatMap(([, , code]) => code ?? []);
  expect(due.filter((code) => !VAGUE.has(code)).length / due.length).toBeGreaterThan(0.9);
});
