import { isAcceptedResult, type DeliveryError, type DeliveryState } from "../webhook/delivery.ts";
import type { DeliveryAction } from "../fault/actions.ts";
import type { AppliedFault } from "../fault/shapes.ts";
import type { Translator, Words } from "../language.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";

/** An attempt of a delivery, with the facts shown in a story. Times are milliseconds by the store's clock. */
export type StoryAttempt = {
  readonly number: number;
  readonly startedAt: number;
  readonly url: string;
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly milliseconds: number | null;
  readonly fault: DeliveryAction | null;
  /** The beginning of the receiver's answer. */
  readonly answer: Uint8Array | null;
};

/** A delivery with its attempts. */
export type StoryDelivery = {
  readonly id: string;
  readonly eventId: string;
  readonly endpointId: string;
  /** The endpoint's address; for a removed endpoint, the address of the last attempt, or null. */
  readonly endpointUrl: string | null;
  readonly cause: DeliveryEntry["cause"];
  readonly state: DeliveryState;
  readonly nextAt: number;
  /** Whether the delivery waits because its endpoint is paused. */
  readonly isHeld: boolean;
  /** The fault that held, dropped or duplicated the delivery; null if there is none. */
  readonly fault: AppliedFault | null;
  readonly attempts: readonly StoryAttempt[];
};

/** The likely cause of a failed attempt, and a helpful command. */
type LikelyCause = { readonly cause: Words; readonly next: string };

/** Causes by error, or by the status of the answer: the exact status, otherwise its class, such as 4xx. */
export const DELIVERY_CAUSES: Readonly<
  Record<DeliveryError | "other", LikelyCause> & Partial<Record<string, LikelyCause>>
> = {
  unreachable: {
    cause: [
      "nothing answers at this address: the receiver is not running, or listens on another port",
      "该地址无人响应：接收端未运行，或运行在其他端口",
    ],
    next: "checkout endpoints list",
  },
  timeout: {
    cause: [
      "the receiver took too long: answer 2xx first, and do the work after it",
      "接收端响应太慢：请先返回 2xx，再处理业务",
    ],
    next: "checkout events replay <event_id>",
  },
  connection_lost: {
    cause: [
      "the receiver closed the connection without an answer: it crashed, or its server limits the size of bodies",
      "接收端未响应就关闭了连接：可能已崩溃，或其服务器限制请求体大小",
    ],
    next: "checkout events replay <event_id>",
  },
  bad_answer: {
    cause: [
      "the answer is not HTTP: another program listens there, or it expects https",
      "响应不是 HTTP：监听该端口的是其他程序，或它要求 https",
    ],
    next: "checkout endpoints list",
  },
  target_forbidden: {
    cause: ["deliveries go to this machine only (decision 14)", "推送只发往本机（见约定 14）"],
    next: "checkout sandbox start --allow-target <host>",
  },
  interrupted: {
    cause: [
      "the sandbox stopped during the attempt; the event will be sent again",
      "发送途中沙箱停止；将重新发送",
    ],
    next: "checkout events get <event_id>",
  },
  "3xx": {
    cause: [
      "redirects are not followed: give the endpoint the target address of the redirect",
      "不跟随重定向：请把接收端改为重定向后的地址",
    ],
    next: "checkout endpoints add <url>",
  },
  "400": {
    cause: [
      "the receiver refused the event, usually because it verifies the signature with another secret, or over a parsed body",
      "接收端拒绝了它：多半是验签失败，用了别的密钥，或对解析后的请求体验签",
    ],
    next: "checkout endpoints secret <endpoint_id>",
  },
  "401": {
    cause: [
      "the receiver refused the signature, or requires a login that webhooks do not have",
      "接收端拒绝了签名，或要求登录，而 webhook 不会登录",
    ],
    next: "checkout endpoints secret <endpoint_id>",
  },
  "403": {
    cause: [
      "the receiver refused the signature, or its protection against forged forms (CSRF) is on for this route",
      "接收端拒绝了签名，或该路由启用了防跨站表单伪造（CSRF）保护",
    ],
    next: "checkout endpoints secret <endpoint_id>",
  },
  "404": {
    cause: ["the receiver has no such path", "接收端没有这个路径"],
    next: "checkout endpoints list",
  },
  "405": {
    cause: ["the path exists, but does not accept POST", "路径存在，但不接受 POST"],
    next: "checkout endpoints list",
  },
  "410": {
    cause: [
      "the receiver answered 410 (gone), so the endpoint was disabled",
      "接收端声明该地址已不存在，因此接收端已停用",
    ],
    next: "checkout endpoints enable <endpoint_id>",
  },
  "413": {
    cause: [
      "the receiver's size limit for bodies is smaller than the event",
      "接收端的请求体上限小于事件的大小",
    ],
    next: "checkout events get <event_id>",
  },
  "415": {
    cause: ["the receiver does not accept application/json on this route", "该路由不接受 application/json"],
    next: "checkout events get <event_id>",
  },
  "429": {
    cause: ["the receiver limits its rate; its Retry-After is honoured", "接收端限流；已遵守其 Retry-After"],
    next: "checkout events replay <event_id>",
  },
  "4xx": {
    cause: ["the receiver refused the event; its answer says why", "接收端拒绝了它；原因见其响应"],
    next: "checkout events replay <event_id>",
  },
  "5xx": {
    cause: [
      "the receiver failed: see its log and its answer",
      "接收端出错：请查看它自己的日志和它给出的响应",
    ],
    next: "checkout events replay <event_id>",
  },
  other: {
    cause: ["only a 2xx counts as accepted", "只有 2xx 才算已接收"],
    next: "checkout events replay <event_id>",
  },
};

/** The likely cause of a failed attempt; undefined if the attempt succeeded or is still running. */
export function likelyCause({
  status,
  error,
  fault,
}: Pick<StoryAttempt, "status" | "error" | "fault">): LikelyCause | undefined {
  if (fault !== null && (error !== null || status !== null) && !isSuccess(status))
    return { cause: EXPLAIN_SENTENCES.injected(fault), next: "checkout faults list" };
  if (error !== null) return DELIVERY_CAUSES[error];
  if (status === null || isSuccess(status)) return undefined;
  const code = String(status);
  return DELIVERY_CAUSES[code] ?? DELIVERY_CAUSES[`${code.slice(0, 1)}xx`] ?? DELIVERY_CAUSES.other;
}

/** The likely cause of a failed attempt in words. */
export function causeText(attempt: Parameters<typeof likelyCause>[0], say: Translator): string | undefined {
  const found = likelyCause(attempt);
  return found && say(found.cause);
}

/** The fault that delays or delayed the first attempt of a delivery; undefined if there is none. */
export function holdingFault({ fault }: Pick<StoryDelivery, "fault">): DeliveryAction | undefined {
  return fault?.action === "delay" || fault?.action === "reorder" ? fault.action : undefined;
}

/** Whether a receiver accepted an attempt: any 2xx. */
export function isSuccess(status: number | null): boolean {
  return status !== null && isAcceptedResult({ status, retryAfterMs: 0 });
}
