import { decodeAnswer, type AnswerOf, type RequestOf } from "../../core/control/operations.ts";
import { parseJson } from "../../core/json.ts";
import type { World } from "../../world.ts";
import {
  callControl,
  buildControlRequest,
  parseControlResult,
  type ControlResult,
  type ControlTarget,
} from "./control.ts";

export type HeldLease = AnswerOf<"openLease">;

export type LeaseRequest = RequestOf<"openLease"> & { readonly signal?: AbortSignal };

type LeaseWorld = Pick<World, "send" | "after">;

const OPEN_TIMEOUT_MS = 30_000;

/** Fails if the lease ends before the work does. The lease also ends if this process dies (decision 66). */
export async function withLease<Value>(
  world: LeaseWorld,
  target: ControlTarget,
  request: LeaseRequest,
  run: (lease: HeldLease) => Promise<ControlResult<Value>>,
): Promise<ControlResult<Value>> {
  const controller = new AbortController();
  const openedLease = await open(world, target, { ...request, controller });
  if (openedLease.end !== "success") return openedLease;
  const endLease = async (): Promise<ControlResult<unknown>> => {
    const { id } = openedLease.value;
    const answer = await callControl(world, target, { name: "endLease", id, body: {} });
    controller.abort();
    return answer;
  };
  const result = await run(openedLease.value).catch(async (error: unknown) => {
    await endLease();
    throw error;
  });
  const endAnswer = await endLease();
  return result.end === "success" && endAnswer.end !== "success" ? endAnswer : result;
}

/** Resolves with the lease, whose answer the sandbox leaves open until the lease ends. */
async function open(
  world: LeaseWorld,
  target: ControlTarget,
  { drill, timeoutMs, signal, controller }: LeaseRequest & { readonly controller: AbortController },
): Promise<ControlResult<HeldLease>> {
  let isOpening = true;
  const giveUp = (): void => void (isOpening && controller.abort());
  signal?.addEventListener("abort", giveUp);
  if (signal?.aborted === true) giveUp();
  const request = buildControlRequest(target, {
    name: "openLease",
    body: { drill, timeoutMs },
    timeoutMs: timeoutMs + OPEN_TIMEOUT_MS,
    signal: controller.signal,
  });
  const leaseResult = await new Promise<ControlResult<HeldLease>>((resolve, reject) => {
    let text = "";
    const onPart = (part: Uint8Array): void => {
      text += Buffer.from(part).toString("utf8");
      const value = text.endsWith("\n") ? decodeAnswer("openLease", parseJson(text)) : undefined;
      if (value !== undefined) resolve({ end: "success", value });
    };
    world
      .send({ ...request, onPart })
      .then((result) => resolve(parseControlResult(target, "openLease", result)), reject);
    world.after(OPEN_TIMEOUT_MS, giveUp);
  });
  isOpening = false;
  signal?.removeEventListener("abort", giveUp);
  if (leaseResult.end !== "interrupted" || signal?.aborted === true) return leaseResult;
  return { end: "unreachable", message: `no answer within ${OPEN_TIMEOUT_MS} ms` };
}
