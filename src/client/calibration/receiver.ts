import { WEBHOOK_PATH, RETURN_PATH, type ReceivedRequest } from "../../core/calibration/payment.ts";
import { checkHost, type AllowedHosts } from "../../core/loopback.ts";
import { headerValues } from "../../core/webhook/signature.ts";
import type { HttpRequest, HttpResponse, Service, World } from "../../world.ts";

export type CalibrationReceiver = ReturnType<typeof createCalibrationReceiver>;

const MAX_DELIVERIES = 100;

/** Answers the order's first delivery with 503, to see the service retry. Ignores deliveries of other orders. */
export function createCalibrationReceiver({ now }: Pick<World, "now">, orderId: string) {
  const deliveries: ReceivedRequest[] = [];
  let visit: ReceivedRequest | undefined;
  const answer = (request: HttpRequest, hosts: AllowedHosts): HttpResponse => {
    const { method, target, rawHeaders, body } = request;
    // Only browsers send an Origin header, so such a request is not a delivery.
    const isFromBrowser = method === "POST" && headerValues(rawHeaders, "origin").length > 0;
    if (isFromBrowser || !checkHost(headerValues(rawHeaders, "host"), hosts).ok)
      return plainAnswer(403, "not allowed here");
    const path = target.split("?")[0];
    const receivedRequest = { at: now(), method, target, rawHeaders, body };
    if (method === "POST" && path === WEBHOOK_PATH) {
      const isOfOrder = Buffer.from(body).includes(orderId);
      const status = isOfOrder && deliveries.length === 0 ? 503 : 204;
      if (isOfOrder && deliveries.length < MAX_DELIVERIES)
        deliveries.push({ ...receivedRequest, answerCode: status });
      return status === 503 ? plainAnswer(503, "once more, please") : { status: 204, headers: {}, body: "" };
    }
    if (method === "GET" && (path === RETURN_PATH || target.includes(orderId))) {
      if (target.includes(orderId)) visit ??= { ...receivedRequest, answerCode: 200 };
      return plainAnswer(200, "The calibration has seen this return. This page can be closed.");
    }
    return plainAnswer(404, "not found");
  };
  return {
    serviceFor: (hosts: AllowedHosts): Service => ({
      answer: (request) => Promise.resolve(answer(request, hosts)),
      refuse: () => plainAnswer(400, "not a valid request"),
    }),
    deliveries: (): readonly ReceivedRequest[] => deliveries,
    visit: () => visit,
  };
}

function plainAnswer(status: number, text: string): HttpResponse {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: `${text}\n` };
}
