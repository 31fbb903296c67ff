import type { AnswerOf } from "../../core/control/operations.ts";
import type { HttpResponse, Listener, Service, World } from "../../world.ts";
import type { ListenerRegistration } from "./registration.ts";

/** A fetched delivery has no Host header; the listener's service accepts this one. */
const HOST = "127.0.0.1:0";
const PAUSE_MS = 1000;
const MAX_ATTEMPTS = 30;
const MAX_ANSWER_BYTES = 12 * 1024;
const MAX_RETRY_AFTER_LENGTH = 64;

/**
 * Fetches deliveries from a sandbox that cannot connect to this machine. Requests in `pendingWork` are not fetched
 * again until the sandbox has their answers.
 */
export function pollDeliveries(
  world: Pick<World, "sleep">,
  link: Pick<ListenerRegistration, "fetch" | "answer">,
  service: Service,
): Pick<Listener, "close"> {
  const controller = new AbortController();
  const { signal } = controller;
  const pendingWork = new Map<string, Promise<void>>();
  const handle = async ({ id, headers, body }: AnswerOf<"fetchDeliveries">["requests"][number]) => {
    const rawHeaders = Object.entries({ ...headers, Host: HOST }).flat();
    const answer = answerOf(
      await service.answer({ method: "POST", target: "/", rawHeaders, body: Buffer.from(body) }),
    );
    for (let attempt = 0; attempt < MAX_ATTEMPTS && !signal.aborted; attempt += 1) {
      const reply = await link.answer(id, answer);
      if (reply.end === "success" || (reply.end === "refusal" && reply.error.code === "not_found")) return;
      await world.sleep(PAUSE_MS, signal);
    }
  };
  const poll = async (): Promise<void> => {
    while (!signal.aborted) {
      const outcome = await link.fetch([...pendingWork.keys()], signal);
      if (outcome.end !== "success") await world.sleep(PAUSE_MS, signal);
      else
        for (const request of outcome.value.requests) {
          const work = handle(request).finally(() => pendingWork.delete(request.id));
          pendingWork.set(request.id, work);
        }
    }
  };
  const pollLoop = poll();
  return {
    close: async (graceMs) => {
      controller.abort();
      await Promise.race([Promise.all([pollLoop, ...pendingWork.values()]), world.sleep(graceMs)]);
    },
  };
}

function answerOf({ status, headers, body }: HttpResponse) {
  const retryAfter = headers["Retry-After"]?.slice(0, MAX_RETRY_AFTER_LENGTH);
  let text = typeof body === "string" ? body : "";
  while (Buffer.byteLength(JSON.stringify(text)) > MAX_ANSWER_BYTES) text = text.slice(0, text.length / 2);
  return { status, body: text, ...(retryAfter !== undefined && { retryAfter }) };
}
