import { callControl } from "../../client/control/control.ts";
import { toIso } from "../../core/clock.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { causeText, outcomeOf, textSaid } from "../../core/explain/delivery.ts";
import { english } from "../../core/language.ts";
import { excerpt, printable } from "../../core/text.ts";
import { stateFile } from "../../host/folder/files.ts";
import { unseenHolder } from "../../host/folder/hold.ts";
import { isHostedFolder } from "../../host/folder/state-folder.ts";
import { lastResult } from "../webhook/report.ts";
import { okFinding, problemFinding, unknownFinding, warningFinding, type DoctorFinding } from "./check.ts";
import { REQUEST_TIMEOUT_MS, type CheckSubjects } from "./check-subjects.ts";
import { START_SANDBOX } from "../problem.ts";
import { answered } from "../target/call.ts";
import { DEFAULT_PORT } from "../../core/config/settings.ts";
import type { DeliveryEntry, EndpointEntry } from "../../core/webhook/shapes.ts";

/** Response time from which a sandbox counts as slow, in milliseconds; an idle sandbox needs only a few. */
const SLOW_MS = 1000;
/** Tolerance between real time and a store's clock, in milliseconds. */
const CLOCK_TOLERANCE_MS = 5000;
/** The number of newest deliveries read for each endpoint. */
const NEWEST_DELIVERIES = 5;

/** Checks which process serves the folder. */
export async function checkLock({ context: { world }, folder, lock }: CheckSubjects): Promise<DoctorFinding> {
  const found = lock();
  if (found === undefined) return unknownFinding("the state folder is not read");
  if (found.kind === "none") return okFinding("no sandbox uses the folder");
  const path = stateFile(folder, "run");
  if (found.kind === "torn")
    return warningFinding(`${path} was not written by checkout; the next start replaces it`, START_SANDBOX);
  if (found.kind === "unreadable")
    return problemFinding(
      `${path} has the format of another version of checkout, whose sandbox is running`,
      "stop it with that version",
    );
  const { pid } = found.run;
  if (found.kind === "live") return okFinding(`held by the running sandbox (pid ${pid})`);
  const unseen = found.kind === "stale" ? await unseenHolder(world, folder) : undefined;
  if (unseen !== undefined) return warningFinding(`held by ${unseen}`, "run the commands there");
  if (found.kind === "stale")
    return warningFinding(
      `left by a sandbox that was killed (pid ${pid}); the next start takes it over`,
      START_SANDBOX,
    );
  return warningFinding(`copied from another folder, which pid ${pid} serves`, START_SANDBOX);
}

/** Checks which process listens on the port of the running sandbox, or on the port of the next start. */
export function checkPort({ context: { world }, lock, folder }: CheckSubjects): DoctorFinding {
  const found = lock();
  const live = found?.kind === "live" ? found.run : undefined;
  if (live?.port === null)
    return unknownFinding(`the sandbox is starting (pid ${live.pid})`, "run checkout doctor again");
  const named = world.env["CHECKOUT_SANDBOX_PORT"] || undefined;
  const port = live?.port ?? Number(named ?? DEFAULT_PORT);
  const owner = printable(world.portOwner(port) ?? "");
  if (live !== undefined) {
    // The port of a hosted service belongs to a separate process, workerd.
    const isOther = owner !== "" && !owner.includes(String(live.pid)) && !isHostedFolder(world, folder);
    if (!isOther) return okFinding(`${port}, used by the running sandbox`);
    return warningFinding(
      `${port}, the port of the running sandbox, is used by ${owner}`,
      "restart the sandbox if it does not answer",
    );
  }
  if (owner === "") return okFinding(`${port} is free, as far as the system reports`);
  if (named === undefined)
    return warningFinding(
      `${port} is used by ${owner}; a start uses the next free port`,
      "stop that process if you need this port",
    );
  return problemFinding(
    `${port} (CHECKOUT_SANDBOX_PORT) is used by ${owner}`,
    "stop that process, or set another port (0 for any free port)",
  );
}

/** Checks whether the running sandbox answers, and its response time. */
export async function checkHealth({ lock, health }: CheckSubjects): Promise<DoctorFinding> {
  const found = lock();
  const asked = await health();
  if (asked === undefined) {
    if (found?.kind === "live") return unknownFinding("the sandbox is starting", "run checkout doctor again");
    return warningFinding("no sandbox of this folder is running", START_SANDBOX);
  }
  const { answer, ms } = asked;
  const pid = found?.kind === "live" ? found.run.pid : "?";
  if (!answer.ok)
    return problemFinding(
      `the sandbox (pid ${pid}) does not answer: ${printable(answer.message)}`,
      `if it hangs: kill ${pid}; ${START_SANDBOX}`,
    );
  const told = `/healthz: ${answer.status} in ${Math.round(ms)} ms`;
  if (answer.status !== 200)
    return problemFinding(
      `${told}: ${excerpt(answer.body)}`,
      "follow the message; see disk and sandbox.db above",
    );
  return ms > SLOW_MS
    ? warningFinding(`${told}, which is slow`, "check which other programs are busy on this machine")
    : okFinding(told);
}

/** Checks whether the store's clock shows real time. */
export async function checkStoreClock(subjects: CheckSubjects): Promise<DoctorFinding> {
  const asked = await ask(subjects, "showClock");
  if (!asked.ok) return asked.finding;
  const { now, frozen } = asked.value;
  const isMoved = Math.abs(now - subjects.context.world.now()) > CLOCK_TOLERANCE_MS;
  if (!frozen && !isMoved) return okFinding("real time");
  const how = frozen ? "is frozen at" : "was moved to";
  return warningFinding(`the clock ${how} ${toIso(now)}`, "checkout sandbox clock real");
}

/** Checks which endpoints fail, and why. */
export async function checkEndpoints(subjects: CheckSubjects): Promise<DoctorFinding> {
  const listed = await ask(subjects, "listEndpoints");
  if (!listed.ok) return listed.finding;
  const { endpoints } = listed.value;
  if (endpoints.length === 0) return okFinding("none, so events are not delivered");
  const judged = await Promise.all(endpoints.map((endpoint) => judge(subjects, endpoint)));
  const bad = judged.filter(({ status }) => status !== "ok");
  const isProblem = bad.some(({ status }) => status === "problem");
  const [first] = bad;
  if (first === undefined)
    return okFinding(`${endpoints.length}; the newest delivery to each was accepted, or none was due`);
  const found = bad.map((one) => one.found).join("; ");
  const next = [...new Set(bad.map((one) => one.next))].join("; ");
  return { status: isProblem ? "problem" : first.status, found, next };
}

async function judge(subjects: CheckSubjects, endpoint: EndpointEntry): Promise<DoctorFinding> {
  const { id, state, reason, pausedBy } = endpoint;
  // The path of an address can hold a secret.
  const name = `${id} (${URL.canParse(endpoint.url) ? new URL(endpoint.url).origin : "no address"})`;
  if (state === "disabled")
    return problemFinding(`${name} is disabled: ${excerpt(reason ?? "")}`, `checkout endpoints enable ${id}`);
  if (state === "paused" && pausedBy === "listener")
    return warningFinding(`${name} waits for its listener`, "checkout listen");
  if (state === "paused")
    return warningFinding(`${name} is paused: ${excerpt(reason ?? "")}`, `checkout endpoints enable ${id}`);
  // An enabled endpoint has a reason only if its store, or the whole folder, is not adopted.
  if (reason !== null) return warningFinding(`${name}: ${printable(reason)}`, `${START_SANDBOX} --adopt`);
  const asked = await ask(subjects, "listDeliveries", { endpointId: id, limit: NEWEST_DELIVERIES });
  if (!asked.ok) return asked.finding;
  // Deliveries are listed newest first; of two that ended at the same time, the first counts.
  const [newest] = asked.value.deliveries.toSorted((left, right) => endOf(right) - endOf(left));
  if (
    newest === undefined ||
    endOf(newest) === 0 ||
    newest.state === "succeeded" ||
    newest.state === "dropped"
  )
    return okFinding(name);
  const fault = newest.attempts.at(-1)?.fault ?? null;
  if (fault !== null) return okFinding(`${name}: its newest delivery failed by the injected fault ${fault}`);
  return problemFinding(`${name}: ${failureText(newest)}`, remedyOf(newest));
}

/** The time at which the last finished attempt ended; 0 if no attempt has finished. */
function endOf({ attempts }: DeliveryEntry): number {
  return Math.max(0, ...attempts.map(({ finishedAt }) => finishedAt ?? 0));
}

function failureText(delivery: DeliveryEntry): string {
  const last = delivery.attempts.at(-1);
  const then = delivery.nextAt === null ? "given up" : `next attempt ${toIso(delivery.nextAt)}`;
  const text = last && textSaid(last.answer, last.facts?.message);
  const told = text === undefined ? "" : ` ${JSON.stringify(excerpt(text))}`;
  return `attempt ${delivery.tries} of ${delivery.type}: ${lastResult(delivery) ?? "none"}${told}; ${then}`;
}

/** The remedy for the result of the last attempt. */
function remedyOf({ eventId, attempts }: DeliveryEntry): string {
  const last = attempts.at(-1);
  const again = `then: checkout events replay ${eventId}`;
  if (last?.error === "target_forbidden") return `${START_SANDBOX} --allow-target with its host; ${again}`;
  if (last?.status === 400) return `checkout checklist run webhooks shows why it refuses; ${again}`;
  const cause = last && causeText(outcomeOf(last), english);
  return `${cause ?? "see the receiver's own log"}; ${again}`;
}

type ControlReply<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly finding: DoctorFinding };
type Question = "showClock" | "listEndpoints" | "listDeliveries";

/** Calls the control API of the sandbox, if a sandbox answers. */
async function ask<Name extends Question>(
  { context: { world }, control, health }: CheckSubjects,
  name: Name,
  body?: { readonly endpointId: string; readonly limit: number },
): Promise<ControlReply<AnswerOf<Name>>> {
  const healthy = await health();
  const target = await control();
  if (target === undefined || healthy?.answer.ok === false)
    return { ok: false, finding: unknownFinding("no sandbox answers") };
  const call = { name, body, timeoutMs: REQUEST_TIMEOUT_MS };
  const result = await callControl(world, target, call as Parameters<typeof callControl<Name>>[2]);
  const told = answered(result);
  if (told.ok) return told;
  return { ok: false, finding: unknownFinding(told.refusal.message, told.refusal.next) };
}
