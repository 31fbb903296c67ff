import type { Context } from "../command.ts";
import { lineOfWords } from "../hints/again.ts";
import { isAnyId, parseUuid } from "../parsers.ts";
import { catchRefusal, type Problem } from "../problem.ts";
import { callSandbox } from "./control.ts";
import { hintForIds, listNewestCandidates, type IdKind } from "./ids.ts";

/** Replaces a typed URL by the id of the endpoint with this URL. Undefined unless exactly one endpoint has it. */
async function lineWithEndpointId(context: Context, url: string): Promise<string | undefined> {
  const { world } = context;
  const outcome = await catchRefusal(listNewestCandidates(context, "endpoint", undefined));
  const [endpoint, ...otherEndpoints] = outcome.value?.filter(({ about }) => about === url) ?? [];
  if (endpoint === undefined || otherEndpoints.length > 0) return undefined;
  const words = world.argv.map((word) => (word === url ? endpoint.id : word));
  return lineOfWords(world, words);
}

type FoundObject = { readonly noun: string; readonly next: string };

/** Adds to a refusal of an unknown id which other kind of object has that id, and the command for that kind. */
export async function explainOtherKind(context: Context, problem: Problem, id = ""): Promise<Problem> {
  if (problem.code === "usage" && problem.next === hintForIds("endpoint"))
    return { ...problem, next: (await lineWithEndpointId(context, id)) ?? problem.next };
  if (!/^(?:session_)?not_found$/.test(problem.code) || !isAnyId(id)) return problem;
  const object = (await findExplained(context, id)) ?? (await findListed(context, id));
  if (object === undefined || problem.next === object.next) return problem;
  return { ...problem, message: `${problem.message}; this is the id of ${object.noun}`, next: object.next };
}

async function findExplained(context: Context, typedId: string): Promise<FoundObject | undefined> {
  const id = parseUuid(typedId) ?? (await findWholeId(context, EXPLAINED_KINDS, typedId));
  if (id === undefined) return undefined;
  const call = { name: "explain", body: { id, as: undefined } } as const;
  const outcome = await catchRefusal(callSandbox(context, call));
  if (!outcome.ok) return undefined;
  const { kind } = outcome.value;
  const command = `checkout explain ${id}`;
  return kind === "event"
    ? { noun: "an event", next: `${command}; checkout events replay ${id} delivers it again` }
    : { noun: kind === "checkout" ? "an order or session" : `a ${kind}`, next: command };
}

async function findListed(context: Context, typedId: string): Promise<FoundObject | undefined> {
  for (const [kind, noun, command] of LISTED_KINDS) {
    const id = await findWholeId(context, [kind], typedId);
    if (id !== undefined) return { noun, next: command.replace("<id>", id) };
  }
  return undefined;
}

async function findWholeId(
  context: Context,
  kinds: readonly IdKind[],
  typedId: string,
): Promise<string | undefined> {
  for (const kind of kinds) {
    const outcome = await catchRefusal(listNewestCandidates(context, kind, undefined, typedId.toLowerCase()));
    const candidate = outcome.value?.find(({ id }) => id.endsWith(typedId.toLowerCase()));
    if (candidate !== undefined) return candidate.id;
  }
  return undefined;
}

const EXPLAINED_KINDS = ["checkout", "event", "delivery", "request"] as const;

/** Kinds of objects that `checkout explain` does not accept, with the commands that show them. */
const LISTED_KINDS: readonly (readonly [IdKind, noun: string, command: string])[] = [
  ["endpoint", "an endpoint", "checkout deliveries list --endpoint <id>"],
  ["fault", "a fault", "checkout faults list"],
  ["key", "an API key", "checkout keys list"],
  ["token", "a token", "checkout tokens list"],
];
