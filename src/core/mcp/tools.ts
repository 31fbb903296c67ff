import * as z from "zod/mini";
import { SIMULATED_OUTCOMES } from "../checkout/reserved-order-id.ts";
import { PAYMENT_METHODS } from "../checkout/checkout.ts";
import { ITEM_COUNT_WORD } from "../readiness/names.ts";
import { isRecord } from "../json.ts";
import { accept, type Outcome } from "../outcome.ts";
import { excerpt } from "../text.ts";

/** Becomes an argument of a command line, so it must not look like an option or contain control characters. */
const word = z.string().check(z.minLength(1), z.maxLength(256), z.regex(/^[^-\p{Cc}][^\p{Cc}]*$/u));
const limit = z.optional(z.int().check(z.gte(1), z.lte(100)));
const seconds = z.optional(z.int().check(z.gte(1), z.lte(60)));

const LISTS = ["orders", "sessions", "events", "deliveries", "requests", "faults", "endpoints"] as const;

export const TOOLS = {
  status: {
    writes: false,
    input: z.strictObject({}),
    description:
      "Whether the sandbox of this folder is running: its address, version and stores, or the command that starts it. Example: {}",
  },
  explain: {
    writes: false,
    input: z.strictObject({ id: word }),
    description:
      'The history of an order, session, event, delivery or request, oldest first: each step with its rule. `id` is an id, its last 8 characters, or an order_id. Example: {"id":"order-1001"}',
  },
  list: {
    writes: false,
    input: z.strictObject({ what: z.enum(LISTS), order_id: z.optional(word), limit }),
    description:
      'The newest orders, sessions, events, deliveries, requests (with status and answer), faults or endpoints of the store, with their ids. `order_id` selects the items of one order (not faults, endpoints). Example: {"what":"events","order_id":"order-1001"}',
  },
  wait_for: {
    writes: false,
    input: z.strictObject({ type: word, order_id: z.optional(word), timeout_s: seconds }),
    description:
      'Waits for the next event of a type, at most `timeout_s` seconds (default 30), and returns it; an event that is already there counts if `order_id` is given. Example: {"type":"order.succeeded","order_id":"order-1001"}',
  },
  checklist: {
    writes: false,
    input: z.strictObject({}),
    description: `The ${ITEM_COUNT_WORD} items of the launch checklist: the status of each, its reason, its evidence, and the next command. Example: {}`,
  },
  assumptions: {
    writes: false,
    input: z.strictObject({ used: z.optional(z.boolean()) }),
    description:
      'Gaps in the interface and how this sandbox fills them; with `used` only the gaps on which this integration relied. Example: {"used":true}',
  },
  diagnose_webhook: {
    writes: false,
    input: z.strictObject({ event_id: word }),
    description:
      'An event with its body and every attempt to deliver it: endpoint, status, answer, and the likely mistake in the receiver. Example: {"event_id":"019bc1f0-3d10-7aaa-8000-000000000005"}',
  },
  create: {
    writes: true,
    input: z.strictObject({
      object: z.enum(["order", "checkout_session"]),
      order_id: word,
      price_id: z.optional(word),
      amount_minor: z.optional(z.int().check(z.gte(1))),
      currency: z.optional(word),
      payment_method: z.optional(z.enum(PAYMENT_METHODS)),
    }),
    description:
      'Creates an order or a session, or returns the existing one of this order_id: id, status and checkout_url. Either `price_id`, or `amount_minor`, `currency` and `payment_method`. Example: {"object":"order","order_id":"order-1001","price_id":"price_coffee"}',
  },
  pay: {
    writes: true,
    input: z.strictObject({
      id: word,
      outcome: z.optional(z.enum(SIMULATED_OUTCOMES)),
      advance: z.optional(word),
    }),
    description:
      'Pays an order or a session as its payer, or simulates another outcome (`outcome`), and returns each change of status. `advance` then moves the clock of the store, such as 1h. Example: {"id":"order-1001","outcome":"declined"}',
  },
  fault: {
    writes: true,
    input: z.strictObject({
      action: word,
      path: z.optional(word),
      order_id: z.optional(word),
      event: z.optional(word),
      times: z.optional(z.int().check(z.gte(1), z.lte(1000))),
    }),
    description:
      'Makes the next matching request or delivery fail, and returns the fault: status, latency, lose_answer, lose_request, rate_limit, duplicate, reorder, drop. Example: {"action":"lose_answer","path":"/v1/orders"}',
  },
  retry: {
    writes: true,
    input: z.strictObject({ endpoint_id: z.optional(word), order_id: z.optional(word) }),
    description:
      'Sends the deliveries that wait for their next attempt now, to one endpoint (`endpoint_id`), of one order (`order_id`), or all. Example: {"order_id":"order-1001"}',
  },
  replay_or_restore: {
    writes: true,
    input: z.strictObject({ event_id: z.optional(word), snapshot: z.optional(word) }),
    description:
      'Delivers an event again (`event_id`), or restores a snapshot of the store (`snapshot`); exactly one of them. Example: {"event_id":"019bc1f0-3d10-7aaa-8000-000000000005"}',
  },
} as const;

export type ToolName = keyof typeof TOOLS;
export type ToolInput<Name extends ToolName> = z.infer<(typeof TOOLS)[Name]["input"]>;

export function findTool(name: string): ToolName | undefined {
  return toolNames().find((candidate) => candidate === name);
}

export function toolNames(): readonly ToolName[] {
  return Object.keys(TOOLS) as ToolName[];
}

export function inputSchema(name: ToolName): Readonly<Record<string, unknown>> & { readonly type: "object" } {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(TOOLS[name].input);
  return { ...schema, type: "object" };
}

export function parseInput<Name extends ToolName>(
  name: Name,
  input: unknown,
): Outcome<ToolInput<Name>, string> {
  const result = TOOLS[name].input.safeParse(input ?? {});
  if (result.success) return accept(result.data as ToolInput<Name>);
  const { properties } = inputSchema(name);
  const fields = isRecord(properties) ? properties : {};
  const errorTexts = result.error.issues.map((issue) => {
    const [field] = issue.path;
    if (issue.code === "unrecognized_keys")
      return `unknown argument ${issue.keys.join(", ")}; arguments: ${Object.keys(fields).join(", ") || "none"}`;
    if (typeof field !== "string") return `expected an object with ${Object.keys(fields).join(", ")}`;
    const inputText = isRecord(input) && field in input ? excerpt(JSON.stringify(input[field])) : "nothing";
    return `${field}: expected ${JSON.stringify(fields[field])}, got ${inputText}`;
  });
  return { ok: false, refusal: `wrong arguments of ${name}: ${errorTexts.join("; ")}` };
}
