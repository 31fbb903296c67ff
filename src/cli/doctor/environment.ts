import { closestMatch } from "leven";
import { isTargetVariable } from "../../core/config/secrets.ts";
import { isLoopback } from "../../core/loopback.ts";
import type { Outcome } from "../../core/outcome.ts";
import { proxyFor, displayProxy } from "../../core/network/proxy.ts";
import { excerpt } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { isSecretName } from "./redaction.ts";
import { okFinding, problemFinding, warningFinding, type DoctorFinding } from "./check.ts";
import { findingOfProblem } from "./folder.ts";
import type { KnownVariables } from "../variables.ts";
import { catchRefusal, START_SANDBOX, type Problem } from "../problem.ts";
import type { CheckSubjects } from "./check-subjects.ts";
import { resolveTarget, type ResolvedTarget } from "../target/resolve.ts";

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
/** The largest edit distance that counts as a misspelling. */
const MAX_DISTANCE = 4;
/** Values that are printed: numbers, durations, switches, hosts, ids. Paths and headers are not printed. */
const PLAIN_VALUE = /^[a-z0-9][a-z0-9.:,-]{0,40}$/i;
const HIDDEN_VARIABLES = /_(HEADER|FORWARD|ROUTE|CA|DIR|URL)$/;

/** Checks which service the commands use, and whether there is an API key for it. */
export function checkService(subjects: CheckSubjects): DoctorFinding {
  const resolved = settingsOf(subjects);
  if (!resolved.ok) return findingOfProblem(resolved.refusal);
  const { baseUrl, apiKey, lacksSandbox, otherSandbox } = resolved.value;
  if (baseUrl.value === null || lacksSandbox !== undefined)
    return warningFinding(
      `commands have no service to call: ${lacksSandbox ?? baseUrl.source}`,
      START_SANDBOX,
    );
  const where = `${new URL(baseUrl.value).origin} (${baseUrl.source})`;
  const other = otherSandbox === undefined ? "" : `; this folder has another sandbox: ${otherSandbox}`;
  if (apiKey.value === null)
    return problemFinding(`${where}; there is no API key for it${other}`, "set CHECKOUT_API_KEY");
  if (other !== "")
    return warningFinding(
      `${where}${other}`,
      `to use this folder's sandbox, unset ${baseUrl.source}, or eval "$(checkout env)"`,
    );
  return okFinding(`${where}; API key of ${apiKey.source}`);
}

/** The settings of the service, as commands resolve them. */
function settingsOf({ context }: CheckSubjects): Outcome<ResolvedTarget, Problem> {
  return catchRefusal(() => resolveTarget(context, undefined));
}

/** Checks which proxies the environment names, and whether commands would use one for their service. */
export function checkProxies(subjects: CheckSubjects): DoctorFinding {
  const { world } = subjects.context;
  const named = PROXIES.flatMap((name) => [name, name.toLowerCase()]).flatMap((name) => {
    const value = world.env[name];
    if (value === undefined || value === "") return [];
    return [name.toUpperCase() === "NO_PROXY" ? `${name} ${excerpt(value)}` : `${name} ${proxyHost(value)}`];
  });
  if (named.length === 0) return okFinding("none");
  const resolved = settingsOf(subjects);
  const address = resolved.ok ? resolved.value.baseUrl.value : null;
  const isLocal = address === null || isLoopback(new URL(address).hostname);
  const shown = named.join(", ");
  if (isLocal) return okFinding(`${shown}; calls on this machine, and webhooks, do not use them`);
  const proxy = proxyFor(address, world.env);
  const { origin } = new URL(address);
  if (!proxy.ok) {
    const { variable } = proxy.refusal;
    return problemFinding(
      `${shown}; ${variable} does not name a proxy`,
      `correct ${variable}: http://HOST:PORT`,
    );
  }
  if (proxy.value === undefined)
    return okFinding(`${shown}; not used for ${origin}: commands connect directly`);
  return okFinding(
    `${shown}; ${origin} is reached through ${displayProxy(proxy.value.url)} (${proxy.value.source})`,
  );
}

/** The host of a proxy, without user, password or path. */
function proxyHost(value: string): string {
  const url = value.includes("://") ? value : `http://${value}`;
  return URL.canParse(url) ? new URL(url).host : "(not an address)";
}

/** Checks the variables of checkout: set variables, unknown variables, and invalid values. */
export async function checkVariables({
  context: { world },
  variables,
}: CheckSubjects): Promise<DoctorFinding> {
  const known = await variables();
  const set = Object.keys(world.env).filter((name) => name.startsWith("CHECKOUT_") && world.env[name] !== "");
  if (set.length === 0) return okFinding("none");
  const judged = set.toSorted().map((name) => judgeVariable(name, known, world.env));
  const status = (["problem", "warning", "ok"] as const).find((one) =>
    judged.some((finding) => finding.status === one),
  );
  const next = judged.flatMap((finding) => finding.next ?? []);
  return {
    status: status ?? "ok",
    found: judged.map(({ found }) => found).join(", "),
    next: next.length === 0 ? null : next.join("; "),
  };
}

function judgeVariable(name: string, known: KnownVariables, env: World["env"]): DoctorFinding {
  const refuses = known.get(name);
  if (refuses !== undefined) {
    if (refuses(env[name] ?? "") === undefined) return okFinding(displayValue(name, env));
    return problemFinding(`${name} (refused)`, `correct ${name}: the help of its command shows its values`);
  }
  if (isTargetVariable(name)) return okFinding(displayValue(name, env));
  const meant = closestMatch(name, [...known.keys()], { maxDistance: MAX_DISTANCE });
  const hint = meant === undefined ? "no command reads it" : `did you mean ${meant}?`;
  return warningFinding(`${name} (unknown)`, `unset ${name}: ${hint}`);
}

function displayValue(name: string, env: World["env"]): string {
  const value = env[name] ?? "";
  if (isSecretName(name)) return `${name} (secret)`;
  return PLAIN_VALUE.test(value) && !HIDDEN_VARIABLES.test(name) ? `${name}=${value}` : `${name} (set)`;
}
