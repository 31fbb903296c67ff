import type { CallOperation } from "../../client/control/control.ts";
import { toIso } from "../../core/clock.ts";
import { causeMaterialOf, causeText, likelyCause, receivedText } from "../../core/explain/delivery.ts";
import { english } from "../../core/language.ts";
import { parseRunRecord } from "../../core/state-files.ts";
import { excerpt, printable } from "../../core/text.ts";
import { stateFile } from "../../host/folder/files.ts";
import { findHiddenHolder } from "../../host/folder/hold.ts";
import { isRunningOwner } from "../../host/folder/owner-file.ts";
import { lastAttemptText } from "../webhook/report.ts";
import type { Context } from "../command.ts";
import { CLOCK_TOLERANCE_MS, type CheckSubjects, type Finding } from "./subjects.ts";
import { START_SANDBOX } from "../problem.ts";
import { DEFAULT_PORT } from "../../core/config/settings.ts";
import type { DeliveryEntry, EndpointEntry } from "../../core/webhook/shapes.ts";

const SLOW_MS = 1000;
const MAX_DELIVERIES = 5;

export function checkVersion({ context: { version }, findRun }: CheckSubjects): Finding {
  const run = findRun();
  if (run === undefined) return ["ok", `checkout ${version}; no running sandbox to compare with`];
  if (run.version === version) return ["ok", `checkout ${version}; the running sandbox has the same version`];
  const sandboxVersion = run.version === undefined ? "an older version" : `version ${printable(run.version)}`;
  const next = "restart the sandbox, so that both have the same version";
  return ["warning", `checkout ${version}; the running sandbox has ${sandboxVersion}`, next];
}

export async function checkLock({ context: { world, around }, folder }: CheckSubjects): Promise<Finding> {
  const record = around.run();
  if (record !== undefined) return ["ok", `held by the running sandbox (pid ${record.pid})`];
  const path = stateFile(folder, "run");
  const text = world.files.read(path) ?? "";
  // A crash can leave an empty run file, which names no process.
  if (text === "") return ["ok", "no sandbox uses the folder"];
  const run = parseRunRecord(text);
  if (run === undefined)
    return ["warning", `${path} was not written by checkout; the next start replaces it`, START_SANDBOX];
  if (isRunningOwner(world, run, run.folder))
    return ["warning", `copied from another folder, which pid ${run.pid} serves`, START_SANDBOX];
  const holder = await findHiddenHolder(world, folder);
  if (holder !== undefined) return ["warning", `held by ${holder}`, "run the commands there"];
  const leftoverText = `left by a sandbox that was killed (pid ${run.pid}); the next start takes it over`;
  return ["warning", leftoverText, START_SANDBOX];
}

export async function checkPort({ context, findRun, readHealth }: CheckSubjects): Promise<Finding> {
  const { world } = context;
  const run = findRun();
  if (run?.port === null)
    return ["unknown", `the sandbox is starting (pid ${run.pid})`, "run checkout doctor again"];
  const portVariable = world.env["CHECKOUT_SANDBOX_PORT"] || undefined;
  const port = run?.port ?? Number(portVariable ?? DEFAULT_PORT);
  const owner = printable(world.portOwner(port) ?? "");
  if (run !== undefined) {
    // A child process of the sandbox can own the port, so only an answer of the sandbox is decisive.
    const answer = owner === "" || owner.includes(String(run.pid)) ? undefined : (await readHealth())?.answer;
    if (answer === undefined || (answer.ok && answer.status === 200))
      return ["ok", `${port}, used by the running sandbox`];
    const finding = `${port}, the port of the running sandbox, is used by ${owner}`;
    return ["warning", finding, "restart the sandbox if it does not answer"];
  }
  if (owner === "") return ["ok", `${port} is free, as far as the system reports`];
  const [usage, step] = [`is used by ${owner}`, "stop that process"];
  if (portVariable === undefined)
    return ["warning", `${port} ${usage}; a start uses the next free port`, `${step} if you need this port`];
  const next = `${step}, or set another port (0 for any free port)`;
  return ["problem", `${port} (CHECKOUT_SANDBOX_PORT) ${usage}`, next];
}

export async function checkHealth({ findRun, readHealth }: CheckSubjects): Promise<Finding> {
  const run = findRun();
  if (run === undefined) return ["warning", "no sandbox of this folder is running", START_SANDBOX];
  const healthAnswer = await readHealth();
  if (healthAnswer === undefined) return ["unknown", "the sandbox is starting", "run checkout doctor again"];
  const { answer, ms } = healthAnswer;
  if (!answer.ok) {
    const finding = `the sandbox (pid ${run.pid}) does not answer: ${printable(answer.message)}`;
    return ["problem", finding, `if it hangs: kill ${run.pid}; ${START_SANDBOX}`];
  }
  const healthText = `/healthz: ${answer.status} in ${Math.round(ms)} ms`;
  const next = "follow the message; see disk and sandbox.db above";
  if (answer.status !== 200) return ["problem", `${healthText}: ${excerpt(answer.body)}`, next];
  if (ms <= SLOW_MS) return ["ok", healthText];
  return ["warning", `${healthText}, which is slow`, "check which other programs are busy on this machine"];
}

export async function checkStoreClock(ask: CallOperation, { world }: Context): Promise<Finding> {
  const { now, frozen } = await ask({ name: "showClock", body: undefined });
  const isMoved = Math.abs(now - world.now()) > CLOCK_TOLERANCE_MS;
  if (!frozen && !isMoved) return ["ok", "real time"];
  const clockState = frozen ? "is frozen at" : "was moved to";
  return ["warning", `the clock ${clockState} ${toIso(now)}`, "checkout sandbox clock real"];
}

export async function checkEndpoints(ask: CallOperation): Promise<Finding> {
  const { endpoints } = await ask({ name: "listEndpoints", body: undefined });
  if (endpoints.length === 0) return ["ok", "none, so events are not delivered"];
  const findings = await Promise.all(endpoints.map((endpoint) => judgeEndpoint(ask, endpoint)));
  const concerns = findings.filter(([status]) => status !== "ok");
  if (concerns.length === 0)
    return ["ok", `${endpoints.length}; the newest delivery to each was accepted, or none was due`];
  const hasProblem = concerns.some(([status]) => status === "problem");
  const next = [...new Set(concerns.flatMap(([, , advice]) => advice ?? []))];
  return [hasProblem ? "problem" : "warning", concerns.map(([, text]) => text).join("; "), next.join("\n")];
}

async function judgeEndpoint(ask: CallOperation, endpoint: EndpointEntry): Promise<Finding> {
  const { id, state, reason, pausedBy, hold } = endpoint;
  // Shows only the origin, because the path of a webhook URL can contain a secret.
  const label = `${id} (${URL.canParse(endpoint.url) ? new URL(endpoint.url).origin : "no address"})`;
  const enableCommand = `checkout endpoints enable ${id}`;
  if (state === "paused" && pausedBy === "listener")
    return ["warning", `${label} waits for its listener`, "checkout listen"];
  const status = state === "paused" ? "warning" : "problem";
  if (state !== "enabled") return [status, `${label} is ${state}: ${excerpt(reason ?? "")}`, enableCommand];
  if (hold !== undefined)
    return ["warning", `${label}: ${printable(reason ?? "")}`, `${START_SANDBOX} --adopt`];
  const body = { endpointId: id, limit: MAX_DELIVERIES };
  const { deliveries } = await ask({ name: "listDeliveries", body });
  // The list is newest first and the sort is stable, so of deliveries that ended at the same time, the newest comes
  // first.
  const [lastDelivery] = deliveries.toSorted((left, right) => endOf(right) - endOf(left));
  const isFine = lastDelivery?.state === "succeeded" || lastDelivery?.state === "dropped";
  if (lastDelivery === undefined || endOf(lastDelivery) === 0 || isFine) return ["ok", label];
  const fault = lastDelivery.attempts.at(-1)?.fault ?? null;
  if (fault !== null) return ["ok", `${label}: its newest delivery failed by the injected fault ${fault}`];
  return failureFinding(lastDelivery, label);
}

function endOf({ attempts }: DeliveryEntry): number {
  return Math.max(0, ...attempts.map(({ finishedAt }) => finishedAt ?? 0));
}

function failureFinding(delivery: DeliveryEntry, label: string): Finding {
  const attempt = delivery.attempts.at(-1);
  const nextText = delivery.nextAt === null ? "given up" : `next attempt ${toIso(delivery.nextAt)}`;
  const text = attempt && receivedText(attempt.answer, attempt.facts?.message);
  const answerText = text === undefined ? "" : ` ${JSON.stringify(excerpt(text))}`;
  const result = `${lastAttemptText(delivery) ?? "none"}${answerText}`;
  const finding = `${label}: attempt ${delivery.tries} of ${delivery.type}: ${result}; ${nextText}`;
  const replayAdvice = `then: checkout events replay ${delivery.eventId}`;
  if (attempt?.error === "target_forbidden")
    return ["problem", finding, `${START_SANDBOX} --allow-target with its host; ${replayAdvice}`];
  if (attempt?.status === 400)
    return ["problem", finding, `checkout checklist run webhooks shows why it refuses; ${replayAdvice}`];
  if (attempt !== undefined && likelyCause(causeMaterialOf(attempt))?.code === "refused") {
    const advice = `checkout endpoints remove ${delivery.endpointId} if nothing listens there; otherwise start the receiver`;
    return ["problem", finding, `${advice}, ${replayAdvice}`];
  }
  const cause = (attempt && causeText(causeMaterialOf(attempt), english)) ?? "see the receiver's own log";
  return ["problem", finding, `${cause}; ${replayAdvice}`];
}
