import { closestMatch } from "leven";
import { isTargetVariable } from "../../core/config/secrets.ts";
import { isLoopback } from "../../core/loopback.ts";
import { displayProxy } from "../../core/network/proxy.ts";
import { excerpt } from "../../core/text.ts";
import { NEEDED_NODE } from "../../version.ts";
import type { World } from "../../world.ts";
import { catchRefusal, START_SANDBOX } from "../problem.ts";
import { resolveTarget } from "../target/resolve.ts";
import type { KnownVariables } from "../variables.ts";
import { isSecretVariable } from "../../core/request/redaction.ts";
import type { CheckSubjects, Finding } from "./subjects.ts";

const MAX_DISTANCE = 4;
/** Matches numbers, durations, switches, hosts and ids, which can be printed because they are no secrets. */
const PLAIN_VALUE = /^[a-z0-9][a-z0-9.:,-]{0,40}$/i;
const HIDDEN_VARIABLE_PATTERN = /_(HEADER|FORWARD|ROUTE|CA|DIR|URL)$/;

export function checkNode({ context: { world } }: CheckSubjects): Finding {
  const { nodeVersion, node } = world.machine();
  const finding = `Node ${nodeVersion} (${node.isEmbedded ? "inside " : ""}${node.path}); needed: ${NEEDED_NODE}`;
  const neededVersion = NEEDED_NODE.replace(/^\D+/, "");
  if (nodeVersion.localeCompare(neededVersion, "en", { numeric: true }) >= 0) return ["ok", finding];
  const next = "run it with npx in its project (npx --no -- checkout), or install a newer Node";
  return ["problem", finding, next];
}

export function checkService({ context }: CheckSubjects): Finding {
  const { baseUrl, apiKey, lacksSandbox, otherSandbox } = resolveTarget(context);
  if (baseUrl.value === null || lacksSandbox !== undefined)
    return ["warning", `commands have no service to call: ${lacksSandbox ?? baseUrl.source}`, START_SANDBOX];
  const address = `${new URL(baseUrl.value).origin} (${baseUrl.source})`;
  const otherText = otherSandbox === undefined ? "" : `; this folder has another sandbox: ${otherSandbox}`;
  if (apiKey.value === null)
    return ["problem", `${address}; there is no API key for it${otherText}`, "set CHECKOUT_API_KEY"];
  if (otherText === "") return ["ok", `${address}; API key of ${apiKey.source}`];
  const next = `to use this folder's sandbox, unset ${baseUrl.source}, or eval "$(checkout env)"`;
  return ["warning", `${address}${otherText}`, next];
}

export function checkProxies({ context }: CheckSubjects): Finding {
  const { env } = context.world;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
  const setNames = names.flatMap((name) => [name, name.toLowerCase()]).filter((name) => env[name]);
  if (setNames.length === 0) return ["ok", "none"];
  const variableTexts = setNames.map((name) => {
    const value = env[name] ?? "";
    if (name.toUpperCase() === "NO_PROXY") return `${name} ${excerpt(value)}`;
    const url = value.includes("://") ? value : `http://${value}`;
    return `${name} ${URL.canParse(url) ? new URL(url).host : "(not an address)"}`;
  });
  const text = variableTexts.join(", ");
  // Ignores an invalid proxy, which the check of the service reports.
  const { baseUrl, proxy } = catchRefusal(() => resolveTarget(context)).value ?? {};
  const url = new URL(baseUrl?.value ?? "http://localhost");
  if (isLoopback(url.hostname))
    return ["ok", `${text}; calls on this machine, and webhooks, do not use them`];
  if (proxy === undefined || proxy.value === null)
    return ["ok", `${text}; not used for ${url.origin}: commands connect directly`];
  return ["ok", `${text}; ${url.origin} is reached through ${displayProxy(proxy.value)} (${proxy.source})`];
}

export async function checkVariables({ context, listVariables }: CheckSubjects): Promise<Finding> {
  const { env } = context.world;
  const knownVariables = await listVariables();
  const setNames = Object.keys(env).filter((name) => name.startsWith("CHECKOUT_") && env[name] !== "");
  if (setNames.length === 0) return ["ok", "none"];
  const findings = setNames.toSorted().map((name) => judgeVariable(name, knownVariables, env));
  const hasStatus = (status: Finding[0]): boolean => findings.some(([foundStatus]) => foundStatus === status);
  const status = hasStatus("problem") ? "problem" : hasStatus("warning") ? "warning" : "ok";
  const next = findings.flatMap(([, , advice]) => advice ?? []);
  return [status, findings.map(([, findingText]) => findingText).join(", "), next.join("; ") || undefined];
}

function judgeVariable(name: string, knownVariables: KnownVariables, env: World["env"]): Finding {
  const value = env[name] ?? "";
  const findProblem = knownVariables.get(name);
  if (findProblem?.(value) !== undefined)
    return ["problem", `${name} (refused)`, `correct ${name}: the help of its command shows its values`];
  if (findProblem === undefined && !isTargetVariable(name)) {
    const names = [...knownVariables.keys()];
    const closestName =
      names.find((knownName) => knownName.endsWith(name.slice("CHECKOUT".length))) ??
      closestMatch(name, names, { maxDistance: MAX_DISTANCE });
    const hint = closestName === undefined ? "no command reads it" : `did you mean ${closestName}?`;
    return ["warning", `${name} (unknown)`, `unset ${name}: ${hint}`];
  }
  if (isSecretVariable(name)) return ["ok", `${name} (secret)`];
  const isPlain = PLAIN_VALUE.test(value) && !HIDDEN_VARIABLE_PATTERN.test(name);
  return ["ok", isPlain ? `${name}=${value}` : `${name} (set)`];
}
