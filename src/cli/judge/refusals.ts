import type { CallOperation, ControlTarget } from "../../client/control/control.ts";
import { isDeliverable } from "../../client/judge/events.ts";
import { parseShopTarget, sendLocally } from "../../client/judge/shop/view.ts";
import { HISTORY_NAMES, PLAIN_PURCHASE } from "../../core/judge/histories/histories.ts";
import { DRILL_NAMES } from "../../core/readiness/names.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { lineOfWords } from "../hints/again.ts";
import { isSameExceptPlural } from "../hints/search.ts";
import { EXIT, Refused, refuseUsage, START_SANDBOX } from "../problem.ts";

type EndpointCheck = {
  readonly context: Context;
  readonly control: ControlTarget;
  readonly call: CallOperation;
  readonly signal: AbortSignal;
};

/** `mustListen`: also refuses an endpoint at which nothing listens, unless the shop is down at all endpoints. */
export async function refuseUnusableEndpoint(check: EndpointCheck, mustListen: boolean): Promise<void> {
  const { endpoints } = await check.call({ name: "listEndpoints", body: undefined });
  const heldEndpoint = endpoints.find(({ state, reason }) => state === "enabled" && reason !== null);
  if (heldEndpoint !== undefined)
    throw refuseEndpoint(`nothing is delivered: ${heldEndpoint.reason ?? ""}`, `${START_SANDBOX} --adopt`);
  if (!mustListen) return;
  const urlEndpoints = endpoints.filter((endpoint) => endpoint.kind === "url" && isDeliverable(endpoint));
  const isSilent = await Promise.all(urlEndpoints.map(({ url }) => isUnreachable(check, url)));
  const silentEndpoint = urlEndpoints.find(
    ({ url }, index) => isSilent[index] === true && parseShopTarget(check.control, url).ok,
  );
  if (silentEndpoint === undefined || !isSilent.includes(false)) return;
  throw refuseEndpoint(
    `nothing listens at ${printable(silentEndpoint.url)}, which is an enabled endpoint`,
    `checkout endpoints remove ${silentEndpoint.id}`,
  );
}

async function isUnreachable(
  { context: { world }, control, signal }: EndpointCheck,
  url: string,
): Promise<boolean> {
  const answer = await sendLocally(world, control, { url: new URL(url).origin, headers: {}, signal });
  return !answer.ok && answer.failure === "unreachable";
}

function refuseEndpoint(message: string, next: string): Refused {
  return new Refused({ exitCode: EXIT.conflict, code: "state_conflict", message, next });
}

const MAX_CLOSEST = 5;
const MAX_TYPOS = 2;

export async function refuseUnknownHistory({ world }: Context, text: string): Promise<Refused> {
  const part = Object.values(DRILL_NAMES).find((name) => isSameExceptPlural(name, text.replaceAll("_", "-")));
  if (part !== undefined)
    return refuseUsage(`--only: ${text} is a part, not a history`, `checkout checklist run ${part}`);
  const { default: leven } = await import("leven");
  const names = [PLAIN_PURCHASE, ...HISTORY_NAMES];
  const distances = new Map(names.map((name) => [name, leven(name, text)]));
  const distanceOf = (name: string): number => distances.get(name) ?? Infinity;
  const nearNames = names.filter((name) => name.includes(text) || distanceOf(name) <= name.length / 3);
  const [closestName = "", ...otherNames] = (nearNames.length > 0 ? nearNames : names)
    .toSorted((left, right) => distanceOf(left) - distanceOf(right))
    .slice(0, MAX_CLOSEST);
  const message = `--only: there is no history ${text}`;
  if (distanceOf(closestName) > MAX_TYPOS)
    return refuseUsage(message, `closest: ${[closestName, ...otherNames].join(", ")}`);
  const words = world.argv.map((word) =>
    word.replace(/^--only=/, "") === text ? word.replace(text, closestName) : word,
  );
  return refuseUsage(message, lineOfWords(world, words));
}
