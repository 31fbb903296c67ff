import type { World } from "../../world.ts";
import { callControl, wrapAnswer, type ControlResult, type ControlTarget } from "../control/control.ts";

/** From the request log, otherwise the store's newest; undefined if there is none. */
export async function merchantOrderId(
  world: Pick<World, "send">,
  target: ControlTarget,
): Promise<ControlResult<string | undefined>> {
  const logged = await callControl(world, target, {
    name: "listRequests",
    body: { method: "POST", path: "/v1/", status: "201", by: "merchant", limit: 1 },
  });
  if (logged.end !== "success") return logged;
  const [create] = logged.value.requests;
  if (create !== undefined) return wrapAnswer(create.orderId ?? undefined);
  const listed = await callControl(world, target, { name: "listCheckouts", body: { limit: 1 } });
  return listed.end === "success" ? wrapAnswer(listed.value.checkouts[0]?.orderId) : listed;
}
