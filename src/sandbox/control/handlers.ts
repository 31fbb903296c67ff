import { CONTROL_OPERATIONS, type AnswerOf, type OperationName } from "../../core/control/operations.ts";
import type { Outcome } from "../../core/outcome.ts";
import { checkoutHandlers } from "./checkout.ts";
import { clockHandlers } from "./clock.ts";
import { configHandlers } from "./config.ts";
import { drillHandlers } from "./drills.ts";
import { faultHandlers } from "./faults.ts";
import type { OperationContext, Handlers, OperationCall } from "./handler.ts";
import { keyHandlers } from "./keys.ts";
import { portalHandlers } from "./portal.ts";
import { readinessHandlers } from "./readiness.ts";
import { sandboxHandlers } from "./sandbox.ts";
import { requestHandlers } from "./requests.ts";
import { storesHandlers } from "./stores.ts";
import { webhookHandlers } from "./webhook.ts";

export async function runOperation<Name extends OperationName>(
  context: OperationContext,
  name: Name,
  call: OperationCall<Name>,
): Promise<Outcome<AnswerOf<Name>>> {
  const run: Handlers[Name] = context.operations?.[name] ?? CONTROL_HANDLERS[name];
  const answer = await run(context, call);
  if (answer.ok && CONTROL_OPERATIONS[name].method !== "GET") {
    const { storeId, id } = call;
    context.writeSignals.notify(storeId, { checkoutId: id === "" ? null : id });
  }
  return answer;
}

const CONTROL_HANDLERS: Handlers = {
  ...checkoutHandlers,
  ...keyHandlers,
  ...clockHandlers,
  ...webhookHandlers,
  ...faultHandlers,
  ...drillHandlers,
  ...readinessHandlers,
  ...sandboxHandlers,
  ...requestHandlers,
  ...configHandlers,
  ...storesHandlers,
  ...portalHandlers,
};
