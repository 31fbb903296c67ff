import { EVENT_TYPES } from "../checkout/event-types.ts";
import { STATUSES } from "../checkout/checkout.ts";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../errors.ts";
import { isRecord } from "../json.ts";
import { headerPairs } from "../network/headers.ts";
import { plainSignatures, SIGNATURE_FORMS, type Dialect } from "../shape/dialect.ts";
import { isUuid, snakeCase } from "../text.ts";
import {
  DEFAULT_HEADER_NAMES,
  HEADER_KINDS,
  SIGNATURES_PATTERN,
  TIMESTAMP_PATTERN,
} from "../webhook/signature.ts";
import { eventInRequest, type PaymentEvidence, type ReceivedRequest } from "./payment.ts";
import {
  AMOUNT_MINOR,
  BOTH_FORMS_PROBE,
  checkoutInAnswer,
  errorCodeIn,
  FIRST_PROBE,
  PROBES,
  REPLAY_PROBE,
  REPLAY_HEADER,
  type ProbeAnswers,
} from "./probes.ts";

/** The dialect keeps the sandbox's names for `unobservedNames`, which no answer showed. */
export function observedDialect(answers: ProbeAnswers, payment: PaymentEvidence | undefined) {
  const codes = observedCodes(answers);
  const changedCodes = [...codes].filter(([, change]) => Object.keys(change).length > 0);
  const { types, ...eventNames } = observedEvents(payment?.deliveries ?? []);
  const changedTypes = [...types].filter(([ourType, theirType]) => theirType !== ourType);
  const status = answers.get("unknown-id")?.status;
  const bothFormsAnswer = answers.get(BOTH_FORMS_PROBE);
  const usesAmount = checkoutInAnswer(bothFormsAnswer)["amount_minor"] === AMOUNT_MINOR;
  const dialect: Dialect = {
    errors: Object.fromEntries(changedCodes),
    replay: observedReplay(answers),
    unknown_session: status === 400 || status === 403 ? status : undefined,
    both_forms: bothFormsAnswer?.status === 201 ? (usesAmount ? "amount" : "price_id") : undefined,
    ...eventNames,
    events: Object.fromEntries(changedTypes),
  };
  const unobservedNames = [
    ...(types.size === 0 ? ["fields and headers of events"] : []),
    ...EVENT_TYPES.filter((type) => !types.has(type)),
    ...(answers.has(REPLAY_PROBE) ? [] : ["replays"]),
    ...ERROR_CODES.filter((code) => !codes.has(code)),
  ];
  return { dialect: removeEmptyFields(dialect), unobservedNames };
}

function removeEmptyFields(dialect: Dialect): Dialect {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (isRecord(value) && Object.values(value).every((part) => part === undefined));
  return Object.fromEntries(Object.entries(dialect).filter(([, value]) => !isEmpty(value)));
}

function observedCodes(answers: ProbeAnswers) {
  const codes = new Map<ErrorCode, NonNullable<Dialect["errors"]>[string]>();
  for (const { name, checks } of PROBES) {
    const answer = answers.get(name);
    const code = answer && errorCodeIn(answer);
    for (const { refusal: ourCode } of checks) {
      if (ourCode === undefined || codes.has(ourCode) || typeof code !== "string") continue;
      const isOtherStatus = answer?.status !== ERRORS[ourCode].status && ourCode !== "session_not_found";
      const change = { ...(code !== ourCode && { code }), ...(isOtherStatus && { status: answer?.status }) };
      codes.set(ourCode, change);
    }
  }
  return codes;
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

type Form = (value: unknown) => boolean;

const textForm =
  (hasForm: (text: string) => boolean): Form =>
  (value) =>
    typeof value === "string" && hasForm(value);
const isId = textForm(isUuid);

const HEADER_FORMS: Readonly<Record<string, Form>> = {
  event_id: isId,
  timestamp: textForm((text) => TIMESTAMP_PATTERN.test(text)),
  signature: textForm((text) => signatureFormOf(text) !== undefined),
};

/** Ordered from strictest to loosest, because each form takes the first field that fits. */
const FIELD_FORMS: Readonly<Record<string, Form>> = {
  data: isRecord,
  created_at: (value) =>
    typeof value === "number" ? value > 1e9 : typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value),
  store_id: isId,
  sequence: Number.isSafeInteger,
  previous_status: (value) => value === null || STATUSES.some((status) => status === value),
  api_version: textForm((text) => /^\d+\.\d/.test(text)),
  type: textForm(() => true),
};

function observedEvents(deliveries: readonly ReceivedRequest[]) {
  const types = new Map<string, string>();
  const [events, headerSets] = [deliveries.map(eventInRequest), deliveries.map(headersOf)];
  const [event, sentHeaders] = [events[0], headerSets[0]];
  if (event === undefined || sentHeaders === undefined) return { types };
  const headers = findNames(headerSets, HEADER_FORMS, undefined);
  const form = signatureFormOf(sentHeaders[headers["signature"] ?? "signature"] ?? "");
  const idHeader = headers["event_id"] ?? "event_id";
  const ids = new Set<unknown>(headerSets.flatMap(({ [idHeader]: id }) => id ?? []));
  const isEventId: Form = (value) => isId(value) && (ids.size === 0 || ids.has(value));
  const fields = findNames(events, { event_id: isEventId, ...FIELD_FORMS }, null);
  const valueIn = (body: typeof event, field: string): unknown => body[fields[field] ?? field];
  for (const body of events) {
    const [data, theirType] = [valueIn(body, "data"), valueIn(body, "type")];
    const status = isRecord(data) ? String(data["status"]) : "";
    if (typeof theirType === "string") types.set(`order.${status}`, theirType);
  }
  const createdAt = valueIn(event, "created_at");
  const times = typeof createdAt !== "number" ? undefined : createdAt < 1e11 ? "seconds" : "milliseconds";
  const signatureForm = form === "hex" ? undefined : form;
  return { types, event_fields: fields, times, headers, signature_form: signatureForm } as const;
}

function headersOf({ rawHeaders }: ReceivedRequest): Readonly<Record<string, string>> {
  const ourNames = new Map(
    HEADER_KINDS.map((kind) => [DEFAULT_HEADER_NAMES[kind].toLowerCase(), snakeCase(kind)]),
  );
  const pairs = headerPairs(rawHeaders).map(
    ([name, value]) => [ourNames.get(name.toLowerCase()) ?? name, value] as const,
  );
  return Object.fromEntries(pairs);
}

function signatureFormOf(value: string) {
  return SIGNATURE_FORMS.find((form) =>
    SIGNATURES_PATTERN.test(plainSignatures({ signature_form: form }, value)),
  );
}

/** Finds the service's names for the fields that all records lack, by the form of their values. */
function findNames<NotFound>(
  records: readonly Readonly<Record<string, unknown>>[],
  forms: Readonly<Record<string, Form>>,
  notFound: NotFound,
): Readonly<Record<string, string | NotFound>> {
  const allNames = new Set(records.flatMap((record) => Object.keys(record)));
  const unknownNames = new Set([...allNames].filter((name) => !Object.hasOwn(forms, name)));
  const missingForms = Object.entries(forms).filter(([ourName]) => !allNames.has(ourName));
  const foundNames = missingForms.map(([ourName, hasForm]) => {
    const name = [...unknownNames].find((other) => records.every((record) => hasForm(record[other])));
    unknownNames.delete(name ?? "");
    return [ourName, name ?? notFound] as const;
  });
  return Object.fromEntries(foundNames);
}
