// The values of the running sandbox that completion offers. To add some: a row here and in cli/completion/kinds.ts.
import { callControl, type ControlTarget } from "../../client/control/control.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { findSandbox, resolveStore } from "../target/control.ts";
import type { Completion, ValueKind } from "./kinds.ts";

/** Maximum time for which a Tab waits for the sandbox, in milliseconds. */
const TIMEOUT_MS = 1000;
/** Maximum number of values of a kind, newest first. */
const MAX_VALUES = 200;

/** `q` does not find an id by its beginning, so it is left out if an id may begin with the typed text. */
const newestCheckouts = (typed: string) => ({
  limit: MAX_VALUES,
  ...(typed === "" || /^[0-9a-f-]+$/i.test(typed) ? {} : { q: typed }),
});

const orderIds = ({ checkouts }: AnswerOf<"listCheckouts">): readonly Completion[] =>
  checkouts.map(({ object, orderId, status }) => ({
    value: orderId,
    about: `${object === "order" ? "order" : "session"}, ${status}`,
  }));

const LISTERS = {
  checkout: lister("listCheckouts", newestCheckouts, (answer, typed) => [
    ...orderIds(answer),
    // Offers ids only after a character was typed, because order_ids are easier to read.
    ...(typed === "" ? [] : answer.checkouts.map(({ id, orderId }) => ({ value: id, about: orderId }))),
  ]),
  orderId: lister("listCheckouts", newestCheckouts, orderIds),
  event: lister(
    "listEvents",
    () => ({ limit: MAX_VALUES }),
    ({ events }) => events.map(({ eventId: value, type: about }) => ({ value, about })),
  ),
  request: lister(
    "listRequests",
    () => ({ limit: MAX_VALUES }),
    ({ requests }) =>
      requests.map(({ requestId: value, method, path }) => ({ value, about: `${method} ${path}` })),
  ),
  endpoint: lister(
    "listEndpoints",
    () => undefined,
    ({ endpoints }) => endpoints.map(({ id: value, url: about }) => ({ value, about })),
  ),
  fault: lister(
    "listFaults",
    () => undefined,
    ({ faults }) => faults.map(({ id: value, action: about }) => ({ value, about })),
  ),
  key: lister(
    "listKeys",
    () => undefined,
    ({ keys }) => keys.map(({ keyId: value, lastFour }) => ({ value, about: `…${lastFour}` })),
  ),
  price: lister(
    "listPrices",
    () => undefined,
    ({ prices }) => prices.map(({ id: value, currency }) => ({ value, about: currency })),
  ),
  origin: lister(
    "listReturnOrigins",
    () => undefined,
    ({ returnOrigins }) => returnOrigins.map(({ origin: value, path: about }) => ({ value, about })),
  ),
  store: lister(
    "listStores",
    () => undefined,
    ({ stores }) =>
      stores.flatMap(({ storeId, name }) => [
        { value: name, about: "store" },
        { value: storeId, about: name },
      ]),
  ),
  snapshot: lister(
    "listSnapshots",
    () => undefined,
    ({ snapshots }) =>
      snapshots.map(({ name, storeId }) => ({
        value: name,
        about: storeId === null ? "the whole sandbox" : `store ${storeId}`,
      })),
  ),
} as const satisfies Readonly<Record<ValueKind, unknown>>;

/** The values of the command's sandbox that begin with the typed text; empty if no sandbox answers in time. */
export async function sandboxValues(
  context: Context,
  kind: ValueKind,
  typed: string,
): Promise<readonly Completion[]> {
  const sandbox = catchRefusal(() => findSandbox(context)).value;
  if (sandbox === undefined) return [];
  const target = await catchRefusal(resolveStore(context, { ...sandbox, timeoutMs: TIMEOUT_MS }));
  return target.ok ? LISTERS[kind](context, target.value, typed) : [];
}

function lister<Name extends OperationName>(
  name: Name,
  body: (typed: string) => RequestOf<Name>,
  candidates: (answer: AnswerOf<Name>, typed: string) => readonly Completion[],
) {
  return async ({ world }: Context, target: ControlTarget, typed: string): Promise<readonly Completion[]> => {
    const listed = await callControl(world, target, { name, body: body(typed) });
    return listed.end === "success" ? candidates(listed.value, typed) : [];
  };
}
