import { isLoopback, isSameServer, localOrigin } from "../../core/loopback.ts";
import {
  callControl,
  type ControlCall,
  type ControlResult,
  type ControlTarget,
} from "../../client/control/control.ts";
import { NO_STORE, type ControlRole } from "../../core/control/protocol.ts";
import { CONTROL_OPERATIONS, type AnswerOf, type OperationName } from "../../core/control/operations.ts";
import { errorRow, type ErrorCode } from "../../core/errors.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { quote } from "../../core/shell/quote.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { CommonOptions, Context } from "../command.ts";
import { idOf } from "../parsers.ts";
import {
  EXIT,
  exitCodeOfStatus,
  fail,
  failUsage,
  interruptedProblem,
  noSandbox,
  usageProblem,
  type Problem,
} from "../problem.ts";
import { noteTarget, noteVersion, shownVersion } from "./notes.ts";
import { onceThere, patienceIn } from "../service-command.ts";
import { misspelt, namedBaseUrl, type ServiceOptions, type Sourced } from "../settings.ts";
import {
  findStateFolder,
  liveRun,
  locateStateFolder,
  stateFolderWithin,
  readAdminToken,
  readCredentials,
  shortPath,
} from "../../host/folder/state-folder.ts";
import { isStoreId, namedStore, oneStore, unknownStore, type NamedStore } from "./named-store.ts";

/** Where each role's token comes from, where it is not the state folder. */
const TOKEN_VARIABLES: Readonly<Record<ControlRole, string>> = {
  control: "CHECKOUT_CONTROL_TOKEN",
  administrator: "CHECKOUT_ADMIN_TOKEN",
};

/** The sandbox that a command acts on, and the store in it. */
export async function controlTarget(
  context: Context,
  options: CommonOptions,
  role: ControlRole = "control",
): Promise<Outcome<ControlTarget, Problem>> {
  const target = await sandboxTarget(context, options, role);
  return target.ok ? inStore(context, options, target.value) : target;
}

/**
 * A sandbox with the store that a command is about (decision 90); without one where it is the first. Only a name has to
 * be asked for.
 */
export async function inStore(
  context: Context,
  options: CommonOptions,
  target: ControlTarget,
): Promise<Outcome<ControlTarget, Problem>> {
  const { world } = context;
  const named = storeOfFolder(world, options, target);
  if (!named.ok) return named;
  if (named.value === undefined) return accept(target);
  const { text, by, source } = named.value;
  if (by !== "flag" && !isStoreId(text))
    return failUsage(`${source} must be the id of a store; got ${printableLiteral(text)}`, STORES);
  return withStore(context, options, { target, text });
}

/** A sandbox with the store that an argument names, by id or name. */
export async function sandboxStore(
  context: Context,
  options: CommonOptions,
  text: string,
): Promise<Outcome<ControlTarget, Problem>> {
  const target = await sandboxTarget(context, options);
  return target.ok ? withStore(context, options, { target: target.value, text }) : target;
}

async function withStore(
  context: Context,
  options: CommonOptions,
  { target, text }: { readonly target: ControlTarget; readonly text: string },
): Promise<Outcome<ControlTarget, Problem>> {
  if (isStoreId(text)) return accept({ ...target, storeId: text.toLowerCase() });
  // Only the control token lists them; what acts as the administrator may not have it.
  const asked = controlTargetNow(context, options);
  if (!asked.ok || asked.value?.origin !== target.origin) return fail(unknownStore(text, []));
  const listed = await callSandbox(context, asked.value, { name: "listStores", body: undefined });
  if (!listed.ok) return listed;
  const stores = listed.value.stores.map(({ storeId: id, name }) => ({ id, name }));
  const found = oneStore(stores, text);
  return found.ok ? accept({ ...target, storeId: found.value.id }) : found;
}

/** The store that is named for a sandbox; what the folder remembers counts only for its own. */
function storeOfFolder(
  world: World,
  options: CommonOptions,
  { origin }: ControlTarget,
): Outcome<NamedStore | undefined, Problem> {
  // What the environment says of a store belongs to what it says of a service, whatever a flag names.
  const named = namedBaseUrl(world, {});
  const isElsewhere = named.ok && named.value !== undefined && !isSameServer(named.value.value, origin);
  const found = findStateFolder(world, options);
  const folder = found.ok ? found.value : locateStateFolder(world, options.dir);
  const run = found.ok ? liveRun(world, folder) : accept(undefined);
  const port = run.ok ? run.value?.port : undefined;
  const isOwn = typeof port === "number" && isSameServer(localOrigin(port), origin);
  const credentials = found.ok ? readCredentials(world, folder) : accept(undefined);
  if (!credentials.ok) return credentials;
  return namedStore(world, options, {
    folder,
    credentials: credentials.value ?? { stores: {} },
    isOwn,
    isElsewhere,
  });
}

/**
 * The sandbox that a command acts on: the one that the environment names, or the live one of the folder once it is there;
 * which of them is said where they are two (decision 64). Neither token is ever sent to another machine, and neither is
 * the API key.
 */
export async function sandboxTarget(
  context: Context,
  options: CommonOptions,
  role: ControlRole = "control",
): Promise<Outcome<ControlTarget, Problem>> {
  const look = () => controlTargetNow(context, options, role);
  const found = await onceThere(context, options, { look, isThere: (target) => target !== undefined });
  if (!found.ok) return found;
  if (found.value !== undefined) {
    noteTarget(context, options, { url: found.value.origin });
    return accept(found.value);
  }
  const folder = locateStateFolder(context.world, options.dir);
  const named = namedBaseUrl(context.world, options);
  if (named.ok && named.value !== undefined) {
    const { value, source } = named.value;
    const token = TOKEN_VARIABLES[role];
    const why = `for ${value} (${source}) there is no token (${token}${misspelt(context.world, token)})`;
    return fail({
      ...noSandbox(folder, why),
      next: nextWithoutToken(context.world, value, { folder, role }),
    });
  }
  const unread = misspelt(context.world, "CHECKOUT_BASE_URL");
  const why = `no other one is named (CHECKOUT_BASE_URL and ${TOKEN_VARIABLES[role]}${unread})`;
  return fail(noSandbox(folder, `${why}${stateFolderWithin(context.world, folder)}`));
}

/** What to do where a sandbox is named and its token is not. It may be the folder's own, which was stopped. */
function nextWithoutToken(
  { files }: World,
  url: string,
  { folder, role }: { readonly folder: string; readonly role: ControlRole },
): string {
  const { port } = new URL(url);
  const start = `checkout sandbox start --port ${port} starts this folder's there`;
  const isOwn = files.exists(folder) && isSameServer(url, localOrigin(Number(port)));
  const has =
    role === "control"
      ? " to its token: the line that it printed when it was ready, or checkout env --control in its folder, has it"
      : "";
  const set = `set ${TOKEN_VARIABLES[role]}${has}`;
  return isOwn ? `${start}; for another one ${set}` : set;
}

/**
 * The same as it is at this moment; undefined while there is none. A sandbox on this machine that is not the folder's is
 * acted on with its own token, or nothing is: never the folder's in its place.
 */
export function controlTargetNow(
  context: Context,
  options: ServiceOptions,
  role: ControlRole = "control",
): Outcome<ControlTarget | undefined, Problem> {
  const { world, printer } = context;
  const named = namedBaseUrl(world, options);
  if (!named.ok) return named;
  const own = targetOfFolder(context, options, role);
  if (named.value === undefined) return own;
  const { value: url } = named.value;
  const folders = own.ok ? own.value : undefined;
  if (folders !== undefined && isSameServer(url, folders.origin)) return own;
  const isHere = isLoopback(new URL(url).hostname);
  const token = world.env[TOKEN_VARIABLES[role]] ?? "";
  if (token === "")
    return isHere && folders !== undefined
      ? fail(otherSandbox(named.value, { folder: folderOf(world, options), origin: folders.origin, role }))
      : own;
  printer.hide(token);
  if (!isHere) return fail(notHere(named.value.source));
  return targetAt(context, new URL(url).origin, token);
}

/** The live sandbox of the folder, whatever the environment names; undefined while there is none. */
export function targetOfFolder(
  context: Context,
  options: CommonOptions,
  role: ControlRole = "control",
): Outcome<ControlTarget | undefined, Problem> {
  const { world, printer } = context;
  const found = findStateFolder(world, options);
  if (!found.ok) return found;
  const folder = found.value;
  const run = liveRun(world, folder);
  if (!run.ok) return run;
  const { port = null, control_token: controlToken = "" } = run.value ?? {};
  if (port === null) return accept(undefined);
  const named = world.env[TOKEN_VARIABLES.administrator] ?? "";
  const token = role === "control" ? accept(controlToken) : adminTokenOf(world, { folder, named });
  if (!token.ok) return token;
  printer.hide(token.value);
  return targetAt(context, localOrigin(port), token.value);
}

function targetAt(context: Context, origin: string, token: string): Outcome<ControlTarget, Problem> {
  const timeout = patienceIn(context.world.env, "timeout");
  if (!timeout.ok) return timeout;
  const { version } = context;
  const onOtherVersion = (other?: string): void => noteVersion(context, other);
  return accept({ origin, token, version, onOtherVersion, timeoutMs: timeout.value });
}

function folderOf(world: World, { dir }: CommonOptions): string {
  return shortPath(world, locateStateFolder(world, dir));
}

function adminTokenOf(
  world: World,
  { folder, named }: { readonly folder: string; readonly named: string },
): Outcome<string, Problem> {
  if (named !== "") return accept(named);
  const kept = readAdminToken(world, folder);
  if (!kept.ok) return kept;
  if (kept.value !== undefined) return accept(kept.value);
  const message = `there is no admin.json in ${folder}, so there is no admin token`;
  const next = "the next start creates it: checkout sandbox start";
  return fail({ exitCode: EXIT.credential, code: "credential_missing", message, next });
}

const STORES = "checkout stores list shows them";

/** What to do after a code. */
export type NextAfter = Readonly<Partial<Record<ErrorCode, string>>>;

/** The sandbox of the folder that the options name, or one that was found before. */
export type Where = CommonOptions | ControlTarget;

/** Calls one operation of a sandbox, with the token that the operation wants. */
export async function callSandbox<Name extends OperationName>(
  context: Context,
  where: Where,
  call: ControlCall<Name> & { readonly nextAfter?: NextAfter },
): Promise<Outcome<AnswerOf<Name>, Problem>> {
  const { role, path } = CONTROL_OPERATIONS[call.name];
  const find = path.includes("{store_id}") ? controlTarget : sandboxTarget;
  const target = "origin" in where ? accept(where) : await find(context, where, role);
  if (!target.ok) return target;
  const result = await callControl(context.world, target.value, call);
  const outcome = controlOutcome(result, call.nextAfter);
  if (result.end !== "unreachable" || outcome.ok) return outcome;
  const named = namedBaseUrl(context.world, "origin" in where ? {} : where);
  const source = named.ok && named.value !== undefined ? named.value.source : "run.json";
  const message = `${outcome.refusal.message}; the address is from ${source}`;
  return fail({ ...outcome.refusal, message });
}

/** A moment by the store's clock, which is asked: a span from now, or before it where it is negative, at least 0. */
export async function momentFromNow(
  context: Context,
  where: Where,
  spanMs: number,
): Promise<Outcome<number, Problem>> {
  const clock = await callSandbox(context, where, { name: "showClock", body: undefined });
  return clock.ok ? accept(Math.max(0, clock.value.now + spanMs)) : clock;
}

/** How to find the id of what a command is about. */
export const FIND_ID = {
  endpoint: "checkout endpoints list shows them",
  event: "checkout events list shows them",
  request: "checkout requests list shows them",
  fault: "checkout faults list shows them",
  "API key": "checkout keys list shows them",
  "order or session": "checkout orders list and checkout sessions list show them",
} as const;

/** An id that was typed. What cannot be one is a usage error, sandbox or no sandbox. */
export function parseIdOf(what: keyof typeof FIND_ID, text: string): Outcome<string, Problem> {
  const id = idOf(text);
  if (id !== undefined) return accept(id);
  const example = "0199a3c4-5d00-7000-8000-000000000001";
  const article = /^[aeiou]/i.test(what) ? "an" : "a";
  const message = `expected the id of ${article} ${what}, such as ${example}; got ${printableLiteral(text)}`;
  // Whoever has an order_id types it here first; one with blanks or quotes is not written into a command.
  if (what === "order or session" && /^[\w.~:-]{1,32}$/.test(text) && !text.startsWith("-")) {
    return failUsage(message, `checkout orders list --order-id ${quote(text)}`);
  }
  return failUsage(message, FIND_ID[what]);
}

/** What a call brought, or why it brought nothing; `nextAfter` says what to do after a code. */
export function controlOutcome<Value>(
  result: ControlResult<Value>,
  nextAfter: NextAfter = {},
): Outcome<Value, Problem> {
  if (result.end === "success") return accept(result.value);
  if (result.end === "interrupted") return fail(interruptedProblem());
  if (result.end === "other_version") return fail(otherVersion(result));
  if (result.end === "unreachable") {
    const message = `the sandbox cannot be reached: ${result.message}`;
    const next = "start it: checkout sandbox start; checkout whoami shows where its address comes from";
    return fail({ exitCode: EXIT.unreachable, code: "unreachable", message, next });
  }
  return fail(refusedProblem(result.error, nextAfter, result.status));
}

const CHECK_TOKEN = `check ${TOKEN_VARIABLES.control}: checkout env --control in the sandbox's folder prints the right one`;
/** What to do after a token of the control API was refused. */
const NEXT_AFTER_TOKEN: NextAfter = {
  credential_missing: CHECK_TOKEN,
  credential_invalid: CHECK_TOKEN,
  scope_missing: CHECK_TOKEN,
};

/** A refusal of the sandbox, or of its verbs on a folder whose sandbox does not run. */
export function refusedProblem(
  { code, message }: { readonly code: string; readonly message: string },
  nextAfter: NextAfter = {},
  status = errorRow(code)?.status,
): Problem {
  const hints = new Map(Object.entries({ ...NEXT_AFTER_TOKEN, ...nextAfter }));
  const hint = message.startsWith(NO_STORE) ? STORES : hints.get(code);
  const next = hint ?? "correct it and run it again";
  return { exitCode: exitCodeOfStatus(status), code, message, next };
}

/** What this command needs of the sandbox is in another version. */
function otherVersion(met: Extract<ControlResult<never>, { end: "other_version" }>): Problem {
  const theirs = shownVersion(met.sandboxVersion);
  return {
    exitCode: EXIT.failed,
    code: "other_version",
    message: `the sandbox is ${theirs}, this command needs ${met.neededVersion}: restart it`,
    next: "stop the sandbox; checkout sandbox start",
    details: { sandbox_version: theirs, version: met.neededVersion },
  };
}

/** A real service has no control API and must not get its token. */
function notHere(source: string): Problem {
  const message = `${source} names another machine, and only a sandbox on this machine can be controlled`;
  return usageProblem(message, "unset it, or point it at the sandbox: http://127.0.0.1:<port>/v1");
}

/** Two sandboxes are meant, and the one that was named cannot be acted on from here. */
function otherSandbox(
  { value: url, source }: Sourced<string>,
  own: { readonly folder: string; readonly origin: string; readonly role: ControlRole },
): Problem {
  const variable = TOKEN_VARIABLES[own.role];
  const where = `the sandbox of ${printable(own.folder)} is ${own.origin}/v1`;
  const asControl = own.role === "control" ? " (checkout env --control prints it)" : "";
  return {
    exitCode: EXIT.usage,
    code: "other_sandbox",
    message: `${source} names ${printable(url)}, and ${where}; nothing was done`,
    next: `for the first set ${variable} to its token${asControl}; for the second ${source.startsWith("--") ? "leave out" : "unset"} ${source}, or eval "$(checkout env)"`,
  };
}
