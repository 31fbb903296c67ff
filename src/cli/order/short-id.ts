import { isLoopback } from "../../core/loopback.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printableLiteral } from "../../core/text.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { CommonOptions, Context } from "../command.ts";
import { callSandbox, controlTarget, FIND_ID, parseIdOf, type Where } from "../target/control.ts";
import { isShortId } from "../parsers.ts";
import { EXIT, fail, failUsage, type Problem } from "../problem.ts";
import { inStoreOfKey } from "../target/store-of-key.ts";

/** How many of the newest of a store are searched for a short id. */
const NEWEST = 1000;
/** The largest part of a list of checkouts. */
const MAX_CHECKOUTS = 200;

/** The id of an order or session that was typed, whole or short. Refuses as `wholeId` does. */
export function checkoutIdOf(
  context: Context,
  where: Where,
  text: string,
): Promise<Outcome<string, Problem>> {
  return wholeId("order or session", text, (ending) => newestCheckouts(context, where, ending));
}

/** The id of an event that was typed, whole or short. Refuses as `wholeId` does. */
export function eventIdOf(context: Context, where: Where, text: string): Promise<Outcome<string, Problem>> {
  return wholeId("event", text, () => newestEvents(context, where));
}

/** The id of a v1 request that was typed, whole or short. Refuses as `wholeId` does. */
export function requestIdOf(context: Context, where: Where, text: string): Promise<Outcome<string, Problem>> {
  return wholeId("request", text, () => newestRequests(context, where));
}

/** The id of an endpoint that was typed, whole or short. Refuses as `wholeId` does. */
export function endpointIdOf(
  context: Context,
  where: Where,
  text: string,
): Promise<Outcome<string, Problem>> {
  return wholeId("endpoint", text, async () => {
    const listed = await callSandbox(context, where, { name: "listEndpoints", body: undefined });
    return listed.ok ? accept(listed.value.endpoints.map(({ id, url: about }) => ({ id, about }))) : listed;
  });
}

/** The id of an API key that was typed, whole or short. Refuses as `wholeId` does. */
export function keyIdOf(context: Context, where: Where, text: string): Promise<Outcome<string, Problem>> {
  return wholeId("API key", text, async () => {
    const listed = await callSandbox(context, where, { name: "listKeys", body: undefined });
    if (!listed.ok) return listed;
    return accept(listed.value.keys.map(({ keyId: id, lastFour }) => ({ id, about: `…${lastFour}` })));
  });
}

/** The whole id for a short one of a request, an order or session, an event or a delivery: of the first kind that has one. */
export async function anyIdOf(
  context: Context,
  where: Where,
  text: string,
): Promise<Outcome<string, Problem>> {
  const ending = text.toLowerCase();
  for (const newest of [newestRequests, newestCheckouts, newestEvents, newestDeliveries]) {
    const listed = await newest(context, where, ending);
    if (!listed.ok) return listed;
    const found = oneEndingIn(listed.value, ending);
    if (found !== undefined) return found;
  }
  const next =
    "type the whole id; checkout requests list, orders list, events list and deliveries list show them";
  return fail(noneAmong("request, order, session, event or delivery", ending, { code: "not_found", next }));
}

async function newestCheckouts(context: Context, where: Where, ending: string): Promise<Candidates> {
  const body = { q: ending, limit: MAX_CHECKOUTS };
  const listed = await callSandbox(context, where, { name: "listCheckouts", body });
  return listed.ok
    ? accept(listed.value.checkouts.map(({ id, orderId }) => ({ id, about: orderId })))
    : listed;
}

async function newestEvents(context: Context, where: Where): Promise<Candidates> {
  const listed = await callSandbox(context, where, { name: "listEvents", body: { limit: NEWEST } });
  return listed.ok
    ? accept(listed.value.events.map(({ eventId, type }) => ({ id: eventId, about: type })))
    : listed;
}

async function newestDeliveries(context: Context, where: Where): Promise<Candidates> {
  const listed = await callSandbox(context, where, { name: "listDeliveries", body: { limit: NEWEST } });
  return listed.ok ? accept(listed.value.deliveries.map(({ id, type }) => ({ id, about: type }))) : listed;
}

async function newestRequests(context: Context, where: Where): Promise<Candidates> {
  const listed = await callSandbox(context, where, { name: "listRequests", body: { limit: NEWEST } });
  if (!listed.ok) return listed;
  const known = listed.value.requests.map(
    ({ requestId: id, method, path }) => [id, `${method} ${path}`] as const,
  );
  // A replay has the id of the request that it repeats.
  return accept(Array.from(new Map(known), ([id, about]) => ({ id, about })));
}

/** One of the newest, and what a person knows it by. */
type Candidate = { readonly id: string; readonly about: string };
type Candidates = Outcome<readonly Candidate[], Problem>;

/**
 * A whole id, also for its last 8 characters, which are looked for among the store's newest 1,000. Refuses with exit 2
 * what is no id, and what is the end of more than one.
 */
async function wholeId(
  what: keyof typeof FIND_ID,
  text: string,
  newest: (ending: string) => Promise<Candidates>,
): Promise<Outcome<string, Problem>> {
  if (!isShortId(text)) return parseIdOf(what, text);
  const ending = text.toLowerCase();
  const listed = await newest(ending);
  if (!listed.ok) return listed;
  const found = oneEndingIn(listed.value, ending);
  if (found !== undefined) return found;
  const code = what === "order or session" ? "session_not_found" : "not_found";
  return fail(noneAmong(what, ending, { code, next: `type the whole id; ${FIND_ID[what]}` }));
}

/** The one that ends so; undefined where none does, refused where several do. */
function oneEndingIn(listed: readonly Candidate[], ending: string): Outcome<string, Problem> | undefined {
  const candidates = listed.filter(({ id }) => id.endsWith(ending));
  const [found, ...others] = candidates;
  if (found === undefined || others.length === 0) return found && accept(found.id);
  const known = candidates.map(({ id, about }) => `${id} (${printableLiteral(about)})`).join(", ");
  return failUsage(`the ids of ${candidates.length} end in ${ending}: ${known}`, "type the whole id");
}

function noneAmong(what: string, ending: string, rest: Pick<Problem, "code" | "next">): Problem {
  const message = `no ${what} among the newest ${NEWEST} has an id that ends in ${ending}`;
  return { exitCode: EXIT.failed, message, ...rest };
}

/** The service that options or variables name. */
export type NamedService = CommonOptions & { readonly baseUrl?: string; readonly target?: string };

/**
 * The sandbox, for a command that v1 has nothing for. Refuses with exit 2 where the options or the environment name
 * another service.
 */
export async function sandboxOnly(
  context: Context,
  options: NamedService,
  what: string,
): Promise<Outcome<ControlTarget, Problem>> {
  const { baseUrl, target: name } = options;
  const refusal = (service: string): Outcome<never, Problem> =>
    failUsage(
      `${what} are listed by the sandbox alone; the interface of ${service} states no list`,
      "checkout sessions get <id> asks a service for one of them",
    );
  if (name !== undefined) return refusal(printableLiteral(name));
  const url = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  // The address is not shown whole: it may hold a password. One without a scheme has no host, and is told as that.
  if (url !== undefined && url.host !== "" && !isLoopback(url.hostname)) return refusal(url.host);
  const target = await controlTarget(context, options);
  return target.ok ? inStoreOfKey(context, target.value) : target;
}
