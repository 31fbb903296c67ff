import { hash } from "node:crypto";
import { isRecord, parseJson } from "../json.ts";
import { FAULT_HEADER, faultHeader, parseFaultHeader } from "../fault/fault.ts";
import type { AppliedFault } from "../fault/shapes.ts";
import { eventBodyIn, type Dialect } from "../shape/dialect.ts";
import { headerNamesIn, headersInDialect, signHeaders } from "./signature.ts";

export type DeliveryRequest = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** False if a fault changed the body after signing. */
  readonly isEventBody: boolean;
  readonly auditedHeaders: string;
  readonly bodyHash: string;
};

type DeliveryParts = {
  readonly eventId: string;
  readonly body: string;
  /** Active secrets, newest first. */
  readonly secrets: readonly string[];
  readonly retiredSecrets: readonly string[];
  /** Real time, in milliseconds, because receivers compare it with their clock (decision 18). */
  readonly realNow: number;
  readonly fault: AppliedFault | null;
  readonly dialect?: Dialect | undefined;
};

export function deliveryRequest(parts: DeliveryParts): DeliveryRequest {
  const { eventId, fault, dialect } = parts;
  const timestamp = Math.floor(parts.realNow / 1000) - (fault?.action === "stale" ? STALE_AGE_SECONDS : 0);
  const genuineBody = eventBodyIn(dialect, parts.body);
  const rawBody = Buffer.from(genuineBody);
  const signedHeaders = signHeaders(secretsFor(parts), { eventId, timestamp, rawBody });
  const body =
    fault?.action === "changed_body" ? changeSentBody(parts.body, genuineBody, dialect) : genuineBody;
  const headers: DeliveryRequest["headers"] = {
    "Content-Type": "application/json",
    "User-Agent": "checkout-sandbox",
    ...(fault === null ? {} : { [FAULT_HEADER]: faultHeader(fault) }),
    ...headersInDialect(dialect, signedHeaders),
  };
  const { [headerNamesIn(dialect).signature]: _signature, ...auditedHeaders } = headers;
  return {
    headers,
    body,
    isEventBody: body === genuineBody,
    auditedHeaders: JSON.stringify(auditedHeaders),
    bodyHash: hash("sha256", body, "hex"),
  };
}

/**
 * Rebuilds a sent request with the secrets of that time. Returns undefined if the result differs from the audit record.
 */
export function reconstructDeliveryRequest(
  auditRecord: Pick<DeliveryRequest, "auditedHeaders" | "bodyHash">,
  parts: Pick<DeliveryParts, "eventId" | "body" | "secrets" | "retiredSecrets" | "dialect">,
): (DeliveryRequest & Pick<DeliveryParts, "realNow" | "fault">) | undefined {
  const headers = readAuditedHeaders(auditRecord.auditedHeaders);
  const fault = parseFaultHeader(headers[FAULT_HEADER] ?? "") ?? null;
  const timestamp =
    Number(headers[headerNamesIn(parts.dialect).timestamp]) +
    (fault?.action === "stale" ? STALE_AGE_SECONDS : 0);
  const realNow = timestamp * 1000;
  const request = deliveryRequest({ ...parts, realNow, fault });
  const isSame =
    request.auditedHeaders === auditRecord.auditedHeaders && request.bodyHash === auditRecord.bodyHash;
  return isSame ? { ...request, realNow, fault } : undefined;
}

/** Stored text that is not a JSON object becomes the value of `(not headers)`. */
export function readAuditedHeaders(auditedHeaders: string): Readonly<Record<string, string>> {
  const storedHeaders = parseJson(auditedHeaders);
  if (!isRecord(storedHeaders)) return { "(not headers)": auditedHeaders };
  return Object.fromEntries(Object.entries(storedHeaders).map(([name, value]) => [name, String(value)]));
}

function secretsFor({ secrets, retiredSecrets, fault, eventId }: DeliveryParts): readonly string[] {
  const inventSecret = (): string => `whsec_${hash("sha256", `never a secret, ${eventId}`, "base64url")}`;
  if (fault?.action === "bad_signature") return [inventSecret()];
  return fault?.action === "old_secret" ? [retiredSecrets[0] ?? inventSecret()] : secrets;
}

export const STALE_AGE_SECONDS = 3600;

function changeSentBody(body: string, genuineBody: string, dialect: Dialect | undefined): string {
  const changedText = eventBodyIn(dialect, changeBody(body));
  return changedText === genuineBody && dialect !== undefined ? `${genuineBody} ` : changedText;
}

/** Changes the amount, so that a receiver that does not verify books it wrongly; without an amount, the event_id. */
function changeBody(body: string): string {
  const changedAmount = body.replace(
    /("amount_minor":)(\d)/,
    (_, name: string, digit: string) => `${name}${digit === "9" ? "1" : Number(digit) + 1}`,
  );
  return changedAmount === body
    ? body.replace(
        /("event_id":")(.)/,
        (_, name: string, letter: string) => `${name}${letter === "f" ? "e" : "f"}`,
      )
    : changedAmount;
}
