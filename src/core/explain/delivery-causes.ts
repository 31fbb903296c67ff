import { fillBothLanguages } from "../fact.ts";
import type { Words } from "../language.ts";
import type { AttemptFacts } from "../network/connection-fault.ts";
import { excerpt } from "../text.ts";
import { DELIVERY_CAUSES, OTHER_CAUSE, type CauseCode } from "./delivery-sentences.ts";
import { isSuccessStatus, type DeliveryError } from "../webhook/delivery.ts";

export type AttemptOutcome = {
  readonly url: string;
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly answer: Uint8Array | null;
  /** Null for an attempt that an earlier version recorded. */
  readonly facts: AttemptFacts | null;
};

export type LikelyCause = {
  readonly code: string;
  readonly cause: Words;
  readonly next: string;
};

export function causeOf(attempt: AttemptOutcome): LikelyCause | undefined {
  const { status, error } = attempt;
  if (error !== null) return errorCause(error, attempt.facts ?? {});
  return status === null || isSuccessStatus(status) ? undefined : answerCause(status, attempt);
}

export function falseSuccessCause(attempt: AttemptOutcome): LikelyCause | undefined {
  const { status, facts } = attempt;
  if (!isSuccessStatus(status)) return undefined;
  const isPage =
    /^\s*text\/html\b/i.test(facts?.contentType ?? "") ||
    /^\s*(?:<!doctype html|<html)\b/i.test(bodyOf(attempt));
  return isPage && bodyOf(attempt).includes("<") ? causeWithCode("html_page") : undefined;
}

function errorCause(error: DeliveryError, facts: AttemptFacts): LikelyCause {
  const { fault, elsewhere, beginning = "", unfinishedStatus, receivedBytes = 0, announcedBytes } = facts;
  if (error === "target_forbidden" || error === "interrupted" || fault === undefined)
    return causeWithCode(error);
  if (fault === "refused" && elsewhere !== undefined)
    return causeWithCode("elsewhere", elsewhere === "::1" ? "[::1]" : elsewhere);
  if (fault === "not_http") return causeWithCode(fault, excerpt(beginning));
  return causeWithCode(fault, String(unfinishedStatus), String(receivedBytes), String(announcedBytes ?? "?"));
}

function answerCause(status: number, attempt: AttemptOutcome): LikelyCause {
  const { facts } = attempt;
  const body = bodyOf(attempt);
  if (status === 400 && HTTP_REFUSAL_PATTERN.test(body)) return causeWithCode("plain_http");
  if ([400, 403].includes(status) && HOST_REFUSAL_PATTERN.test(body)) return causeWithCode("host_refused");
  if (status === 401 && facts?.authenticate !== undefined)
    return causeWithCode("login", excerpt(facts.authenticate));
  const code = String(status);
  if (isCause(code)) return causeWithCode(code);
  if (status >= 300 && status < 400) return redirectCause(status, attempt);
  const group = `${code.slice(0, 1)}xx`;
  return causeWithCode(isCause(group) ? group : "other");
}

function isCause(code: string): code is CauseCode {
  return DELIVERY_CAUSES.has(code);
}

const HTTP_REFUSAL_PATTERN = /http request (was sent )?to (an? )?https (port|server)|plain http to an ssl/i;
/** How Django, Rails, Vite, webpack and Angular refuse a Host that is not configured. */
const HOST_REFUSAL_PATTERN =
  /invalid http_host header|disallowedhost|blocked hosts?\b|invalid host header|host (?:\("[^"]*"\) )?is not allowed/i;

function redirectCause(status: number, { url, facts }: AttemptOutcome): LikelyCause {
  const { location } = facts ?? {};
  if (location === undefined || !URL.canParse(location, url)) return causeWithCode("redirect_nowhere");
  const [from, to] = [new URL(url), new URL(location, url)];
  const shownUrl = excerpt(to.href);
  const isSameHostAndQuery = from.host === to.host && from.search === to.search;
  if (from.href === to.href) return causeWithCode("redirect_itself");
  const isSamePath = barePath(from) === barePath(to);
  if (!isSamePath && LOGIN_PATH_PATTERN.test(to.pathname)) return causeWithCode("redirect_login", shownUrl);
  if (from.protocol === to.protocol && isSameHostAndQuery && isSamePath)
    return causeWithCode("redirect_slash", shownUrl);
  if (from.protocol === "http:" && to.protocol === "https:" && from.hostname === to.hostname)
    return causeWithCode("redirect_https", shownUrl);
  return causeWithCode(status === 302 || status === 303 ? "redirect_page" : "redirect", shownUrl);
}

const LOGIN_PATH_PATTERN = /\b(?:log[-_]?in|sign[-_]?in|auth|oauth2?|sso|saml|session|accounts?)\b/i;

function barePath({ pathname }: URL): string {
  return pathname.replace(/\/+$/, "");
}

function bodyOf({ answer }: Pick<AttemptOutcome, "answer">): string {
  return answer === null ? "" : Buffer.from(answer).toString("utf8");
}

function causeWithCode(code: CauseCode | "other", ...values: string[]): LikelyCause {
  const { text, next } = DELIVERY_CAUSES.get(code) ?? OTHER_CAUSE;
  return { code, cause: fillBothLanguages(text, Object.fromEntries(values.entries())), next };
}
