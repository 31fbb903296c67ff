import { ERRORS, type ErrorCode } from "../errors.ts";
import { isRecord } from "../json.ts";
import { STATUSES } from "../checkout/checkout.ts";
import { RENAMABLE_EVENT_FIELDS, type Dialect, type SignatureForm } from "../shape/dialect.ts";
import { isUuid } from "../text.ts";
import { DEFAULT_HEADER_NAMES, headerValues } from "../webhook/signature.ts";
import { headerPairs } from "../network/headers.ts";
import { eventOf, type PaymentEvidence, type ReceivedRequest } from "./payment.ts";
import {
  AMOUNT_MINOR,
  BOTH_FORMS_PROBE,
  checkoutInAnswer,
  codeOf,
  FIRST_PROBE,
  PROBES,
  REPLAY_PROBE,
  REPLAY_HEADER,
  type ProbeAnswers,
} from "./probes.ts";

/** A name that no answer shows counts as equal to the sandbox's. */
export function observedDialect(answers: ProbeAnswers, payment: PaymentEvidence | undefined): Dialect {
  const status = answers.get("unknown-id")?.status;
  const bothFormsAnswer = answers.get(BOTH_FORMS_PROBE);
  const usesAmount = checkoutInAnswer(bothFormsAnswer)["amount_minor"] === AMOUNT_MINOR;
  return removeEmptyFields({
    errors: observedErrors(answers),
    replay: observedReplay(answers),
    unknown_session: status === 400 || status === 403 ? status : undefined,
    both_forms: bothFormsAnswer?.status === 201 ? (usesAmount ? "amount" : "price_id") : undefined,
    ...observedEvents(payment?.deliveries ?? []),
  });
}

function removeEmptyFields(dialect: Dialect): Dialect {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (isRecord(value) && Object.values(value).every((part) => part === undefined));
  return Object.fromEntries(Object.entries(dialect).filter(([, value]) => !isEmpty(value)));
}

export const PROVOKED_CODES: readonly ErrorCode[] = PROBES.flatMap(({ checks }) =>
  checks.flatMap(({ refusal }) => refusal ?? []),
);

function observedErrors(answers: ProbeAnswers): NonNullable<Dialect["errors"]> {
  const codes = PROBES.flatMap(({ name, checks }) =>
    checks.flatMap(({ refusal: ourCode }) => {
      const answer = answers.get(name);
      const code = answer === undefined ? undefined : codeOf(answer);
      if (ourCode === undefined || answer === undefined || typeof code !== "string") return [];
      const isOtherStatus = answer.status !== ERRORS[ourCode].status && ourCode !== "session_not_found";
      const change = { ...(code !== ourCode && { code }), ...(isOtherStatus && { status: answer.status }) };
      return Object.keys(change).length === 0 ? [] : [[ourCode, change] as const];
    }),
  );
  // The first answer with a code counts.
  return Object.fromEntries(codes.toReversed());
}

function observedReplay(answers: ProbeAnswers): Dialect["replay"] {
  const [firstAnswer, replay] = [answers.get(FIRST_PROBE), answers.get(REPLAY_PROBE)];
  if (firstAnswer === undefined || replay?.text !== firstAnswer.text) return undefined;
  const isMarked = replay.headers[REPLAY_HEADER] === "true";
  const mark = Object.entries(replay.headers).find(
    ([name, value]) => value === "true" && firstAnswer.headers[name] === undefined,
  );
  return {
    status: replay.status === 200 ? 200 : undefined,
    header: isMarked || firstAnswer.wasResent === true ? undefined : (mark?.[0] ?? null),
  };
}

function observedEvents(deliveries: readonly ReceivedRequest[]): Dialect {
  const events = deliveries.map(eventOf);
  const [delivery] = deliveries;
  const [event] = events;
  if (delivery === undefined || event === undefined) return {};
  const { eventId, ...headerFields } = observedHeaders(delivery);
  const fields = observedFields(events, eventId);
  const nameOf = (field: string): string => fields[field] ?? field;
  const createdAt = event[nameOf("created_at")];
  const types = events.flatMap((body) => {
    const data = body[nameOf("data")];
    const ourType = `order.${String(isRecord(data) ? data["status"] : "")}`;
    const theirType = body[nameOf("type")];
    return typeof theirType === "string" && theirType !== ourType ? [[ourType, theirType] as const] : [];
  });
  const isSeconds = typeof createdAt === "number" && createdAt < 1e11;
  const times = typeof createdAt === "number" ? (isSeconds ? "seconds" : "milliseconds") : undefined;
  return { ...headerFields, event_fields: fields, times, events: Object.fromEntries(types) };
}

const SIGNATURE_PATTERNS: Readonly<Record<SignatureForm, RegExp>> = {
  hex: /^[\da-f]{64}(?:,[\da-f]{64})*$/,
  "sha256=hex": /^sha256=[\da-f]{64}/,
  "v1=hex": /^v1=[\da-f]{64}/,
  "t=timestamp,v1=hex": /^t=\d+,v1=[\da-f]{64}/,
};

function observedHeaders({ rawHeaders }: ReceivedRequest) {
  const pairs = headerPairs(rawHeaders);
  const formOf = (value: string): SignatureForm | undefined =>
    Object.entries(SIGNATURE_PATTERNS).find(([, form]) => form.test(value))?.[0] as SignatureForm | undefined;
  const nameOf = (ourName: string, hasForm: (value: string) => boolean): string | undefined =>
    headerValues(rawHeaders, ourName).length > 0 ? undefined : pairs.find(([, value]) => hasForm(value))?.[0];
  const ourNames = DEFAULT_HEADER_NAMES;
  const headers = {
    event_id: nameOf(ourNames.eventId, isUuid),
    timestamp: nameOf(ourNames.timestamp, (value) => /^\d{10}$/.test(value)),
    signature: nameOf(ourNames.signature, (value) => formOf(value) !== undefined),
  };
  const form = formOf(headerValues(rawHeaders, headers.signature ?? ourNames.signature)[0] ?? "");
  const [eventId] = headerValues(rawHeaders, headers.event_id ?? ourNames.eventId);
  return { headers, signature_form: form === "hex" ? undefined : form, eventId };
}

function observedFields(
  events: readonly ReturnType<typeof eventOf>[],
  eventId: string | undefined,
): Record<string, string | null> {
  const ourNames = new Set<string>([...RENAMABLE_EVENT_FIELDS, "livemode"]);
  const unknownNames = new Set(
    events.flatMap((event) => Object.keys(event)).filter((name) => !ourNames.has(name)),
  );
  const isStatus = (value: unknown): boolean => value === null || STATUSES.some((status) => status === value);
  const isTime = (value: unknown): boolean =>
    typeof value === "number" ? value > 1e9 : typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value);
  const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
    event_id: (value) => typeof value === "string" && isUuid(value),
    data: isRecord,
    created_at: isTime,
    store_id: (value) => typeof value === "string" && isUuid(value),
    sequence: Number.isSafeInteger,
    previous_status: isStatus,
    api_version: (value) => typeof value === "string" && /^\d+\.\d/.test(value),
    type: (value) => typeof value === "string",
  };
  const missingFields = Object.entries(forms).filter(([field]) =>
    events.every((event) => !Object.hasOwn(event, field)),
  );
  const foundNames = missingFields.map(([field, hasForm]) => {
    const name = [...unknownNames].find(
      (otherName) =>
        events.every((event) => hasForm(event[otherName])) &&
        (field !== "event_id" || events[0]?.[otherName] === eventId),
    );
    if (name !== undefined) unknownNames.delete(name);
    return [field, name ?? null] as const;
  });
  return Object.fromEntries(foundNames);
}
