import type { ControlTarget } from "../../client/control/control.ts";
import type { LeaseRequest } from "../../client/control/lease.ts";
import {
  CONTROL_OPERATIONS,
  folderTokenFor,
  type AnswerOf,
  type OperationName,
} from "../../core/control/operations.ts";
import { STORES_HINT, type ControlRole } from "../../core/control/protocol.ts";
import { isStoreToken } from "../../core/credential.ts";
import { isLoopback, isSameServer, localOrigin } from "../../core/loopback.ts";
import { isUuid, printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { stateFolderHint } from "../../host/folder/state-folder.ts";
import {
  catchRefusal,
  EXIT,
  missingCredential,
  noSandboxProblem,
  Refused,
  refuseUsage,
  START_SANDBOX,
  unwrap,
  type Problem,
} from "../problem.ts";
import { findNamedStore, requireOneStore, unknownStoreProblem } from "./named-store.ts";
import { noteTarget, noteVersion } from "./notes.ts";
import {
  TOKEN_VARIABLES,
  type ValueWithSource,
  isOwnSandbox,
  surroundingsAt,
  withoutFolder,
  withSource,
} from "./surroundings.ts";
import { callAt, underLease, type CallWithRemedies } from "./call.ts";
import { limitFromVariable, misspellingHint } from "./options.ts";
import { awaitSandbox } from "./waiting.ts";

/** Calls an operation of the given target; without one, of the command's sandbox, with the token of its role. */
export async function callSandbox<Name extends OperationName>(
  context: Context,
  call: CallWithRemedies<Name>,
  target?: ControlTarget,
): Promise<AnswerOf<Name>> {
  if (target !== undefined) return callAt(context, target, call);
  const { path } = CONTROL_OPERATIONS[call.name];
  const role = folderTokenFor(call.name);
  const find = path.includes("{store_id}") ? controlTarget : sandboxTarget;
  return callAt(context, await find(context, role), call);
}

/** Calls a running sandbox, or one opened in this process. `folder`: undefined without a folder, or for another folder's sandbox. */
export async function withSandbox<Value>(
  context: Context,
  act: (target: ControlTarget, folder: string | undefined) => Promise<Value>,
): Promise<Value> {
  const { around, world, version } = context;
  const live = findSandbox(context);
  noteTarget(context, live === undefined ? "folder" : { url: live.origin });
  if (live !== undefined) return act(live, isOwnSandbox(around, live.origin) ? around.location() : undefined);
  const folder = around.folder();
  if (!world.files.exists(stateFile(folder, "database"))) {
    const message = `there is no state in ${folder}, and no sandbox is running there`;
    throw new Refused({ exitCode: EXIT.unreachable, code: "no_sandbox", message, next: START_SANDBOX });
  }
  const { withStoppedFolder } = await import("../../host/stopped.ts");
  // An unreachable address is then a failure of this process, not of a service.
  const failing = (problem: Problem): Problem =>
    problem.exitCode === EXIT.unreachable ? { ...problem, exitCode: EXIT.failed } : problem;
  const acting = async (sandbox: Omit<ControlTarget, "version">) =>
    unwrap(await catchRefusal(act({ ...sandbox, version }, folder)), failing);
  return unwrap(await withStoppedFolder(context, folder, acting));
}

export async function controlTarget(context: Context, role: ControlRole = "control"): Promise<ControlTarget> {
  return resolveStore(context, await sandboxTarget(context, role));
}

/**
 * The store of the text, an id or a name, otherwise the store that the command is about; without one, calls are about
 * the first. Only the name of a store needs a request (decision 90).
 */
export async function resolveStore(
  context: Context,
  target: ControlTarget,
  text = storeFor(context, target),
): Promise<ControlTarget> {
  if (text === undefined) return target;
  if (isUuid(text)) return { ...target, storeId: text.toLowerCase() };
  // Only the control token may list stores; an administrator may not have it.
  const sandbox = target.send === undefined ? catchRefusal(() => findSandbox(context)).value : target;
  if (sandbox?.origin !== target.origin) throw new Refused(unknownStoreProblem(text, []));
  const { stores } = await callAt(context, sandbox, { name: "listStores", body: undefined });
  const named = stores.map(({ storeId: id, name }) => ({ id, name }));
  return { ...target, storeId: requireOneStore(named, text).id };
}

/** The store that the command is about, by id; a flag may also give its name. */
function storeFor(context: Context, { origin, send }: ControlTarget): string | undefined {
  const around = surroundingsAt(context.around, origin);
  // In-process calls are to the folder's sandbox, which is not running.
  const isOwn = send !== undefined || isOwnSandbox(around, origin);
  const home = catchRefusal(around.folder).ok ? around : withoutFolder(around);
  const { value, source } = findNamedStore(home, isOwn) ?? {};
  if (value === undefined || home.storeFlag !== undefined || isUuid(value)) return value;
  throw refuseUsage(`${source} must be the id of a store; got ${printableLiteral(value)}`, STORES_HINT);
}

/** The command's sandbox and store, without waiting; undefined if no sandbox is running. */
export async function findTarget(context: Context): Promise<ControlTarget | undefined> {
  const found = findSandbox(context);
  return found && resolveStore(context, found);
}

/**
 * The sandbox named by the environment, otherwise the folder's sandbox; waits until one of them is available. If both
 * exist and differ, prints a note that says which one the command uses (decision 64). Only the token of a store is ever
 * sent to another machine, and only to the address that came with it.
 */
export async function sandboxTarget(context: Context, role: ControlRole = "control"): Promise<ControlTarget> {
  const { world, around } = context;
  refuseWithheldToken(context, role);
  const found = await awaitSandbox(context, {
    look: () => findSandbox(context, role),
    isThere: (target) => target !== undefined,
  });
  if (found !== undefined) {
    noteTarget(context, { url: found.origin });
    return found;
  }
  const folder = around.location();
  const named = around.address();
  const token = TOKEN_VARIABLES[role];
  if (named === undefined) {
    const unread = `${misspellingHint(world, "CHECKOUT_BASE_URL")})${stateFolderHint(world, folder)}`;
    const why = `no other sandbox is named (CHECKOUT_BASE_URL and ${token}${unread}`;
    throw new Refused(noSandboxProblem(folder, why));
  }
  const why = `for ${named.value} (${named.source}) no token is set (${token}${misspellingHint(world, token)})`;
  throw new Refused({ ...noSandboxProblem(folder, why), next: nextWithoutToken(context, named.value, role) });
}

/** Starting the folder's sandbox would not provide the token. The usual case is `checkout exec` (decision 122). */
function refuseWithheldToken({ world, around }: Context, role: ControlRole): void {
  const named = around.address();
  if (role === "control" || named === undefined || around.ownUrl() !== undefined) return;
  if (tokenIn(world, "administrator") !== "" || tokenIn(world, "control") === "") return;
  const { administrator } = TOKEN_VARIABLES;
  const message = `${administrator} is missing${misspellingHint(world, administrator)}, and ${printable(named.value)} (${named.source}) needs it; checkout exec withholds it from its command`;
  const next = `${EXEC_ADMIN}; elsewhere set ${administrator} to the token of the sandbox's admin.json`;
  throw new Refused(missingCredential(message, next));
}

/** The remedy if a sandbox is named without its token; it may be the folder's own stopped sandbox. */
function nextWithoutToken({ world, around }: Context, url: string, role: ControlRole): string {
  const printed = " to its token, which its ready line and checkout env --control in its folder print";
  const set = `set ${TOKEN_VARIABLES[role]}${role === "control" ? printed : ""}`;
  const { port } = new URL(url);
  const isFolders = world.files.exists(around.location()) && isSameServer(url, localOrigin(Number(port)));
  const start = `checkout sandbox start --port ${port} starts this folder's sandbox there`;
  return isFolders ? `${start}; for another sandbox, ${set}` : set;
}

/**
 * Another sandbox on this machine is used only with its own token; the folder's sandbox never replaces it. The token of
 * a store also leads to another machine, and precedes the folder's own token, so that a command has only the rights that
 * its user was given.
 */
export function findSandbox(context: Context, role: ControlRole = "control"): ControlTarget | undefined {
  const { world, printer, around } = context;
  const isLimited = role === "control" && isStoreToken(world.env[TOKEN_VARIABLES.control] ?? "");
  const ofFolder = (): ControlTarget | undefined => sandboxOfFolder(context, role);
  const withToken = (origin: string): ControlTarget => targetAt(context, origin, tokenIn(world, role));
  const named = around.address();
  if (named === undefined) {
    const own = ofFolder();
    return isLimited && own !== undefined ? withToken(own.origin) : own;
  }
  const { value: url, source } = named;
  const { origin, hostname } = new URL(url);
  const isHere = isLoopback(hostname);
  if (isLimited) {
    const { value: meant } = around.addressOfKey() ?? named;
    if (!isSameServer(url, meant))
      throw refuseUsage(
        `the token of a store goes only to ${printable(meant)} (CHECKOUT_BASE_URL), not to ${printable(url)}`,
        "set CHECKOUT_BASE_URL and CHECKOUT_CONTROL_TOKEN for the same sandbox",
      );
    if (!isHere && url.startsWith("http:"))
      printer.traceOnce(`warning: the token goes to ${printable(url)} unencrypted; use https`);
    return withToken(origin);
  }
  const own = catchRefusal(ofFolder).value;
  if (own !== undefined && isSameServer(url, own.origin)) return own;
  if (tokenIn(world, role) === "") {
    if (!isHere || own === undefined) return ofFolder();
    const where = `the sandbox of ${printable(around.shownFolder())} is ${own.origin}/v1`;
    throw new Refused(otherSandboxProblem(named, where, role));
  }
  if (isHere) return withToken(origin);
  // Another service has no control API, and must not receive the token.
  throw refuseUsage(
    `${source} names another machine, and the token of an owner never leaves this one`,
    "set CHECKOUT_CONTROL_TOKEN to the token of a store (checkout tokens create), or unset the address",
  );
}

/**
 * Runs an action that needs an API key. A caller with a store's token and no key gets a key under a lease: it is
 * revoked when the command ends, however it ends, and after `timeoutMs`.
 */
export function withStoreKey<Value>(
  context: Context,
  control: ControlTarget,
  { act, ...limits }: Omit<LeaseRequest, "drill"> & { readonly act: (context: Context) => Promise<Value> },
): Promise<Value> {
  const { around } = context;
  const hasKey = around.apiKey !== undefined || isOwnSandbox(around, control.origin);
  if (hasKey || !isStoreToken(control.token)) return act(context);
  return underLease(context, control, { drill: "key", ...limits }, ({ apiKey }) =>
    act({ ...context, around: { ...around, apiKey: withSource(apiKey, "a key for this command") } }),
  );
}

/** The running sandbox of the folder, even if the environment names another; undefined if none is running. */
export function sandboxOfFolder(context: Context, role: ControlRole = "control"): ControlTarget | undefined {
  const run = context.around.run();
  const { port = null, control_token: controlToken = "" } = run ?? {};
  if (port === null) return undefined;
  const token = role === "control" ? controlToken : adminTokenIn(context);
  return targetAt(context, localOrigin(port), token);
}

function targetAt(context: Context, origin: string, token: string): ControlTarget {
  const { version, world, printer } = context;
  printer.hide(token);
  const onOtherVersion = (other?: string): void => noteVersion(context, other);
  return { origin, token, version, onOtherVersion, timeoutMs: limitFromVariable(world.env, "timeout") };
}

/** The token in the environment; empty if there is none. Refuses a token that is not valid in a header. */
function tokenIn({ env }: World, role: ControlRole): string {
  const name = TOKEN_VARIABLES[role];
  const token = env[name] ?? "";
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  // The value is a secret, or part of one, and is not shown.
  const message = `${name} must be a token of printable ASCII characters; a token with … is shortened for display`;
  throw refuseUsage(message, "checkout env --control prints the whole token");
}

function adminTokenIn({ world, around }: Context): string {
  const named = tokenIn(world, "administrator");
  if (named !== "") return named;
  const kept = around.adminToken();
  if (kept !== undefined) return kept;
  const message = `there is no admin.json in ${around.location()}, so there is no admin token`;
  const next = "the next start creates it: checkout sandbox start";
  throw new Refused(missingCredential(message, next));
}

/** How to get the admin token that `checkout exec` withholds. */
const EXEC_ADMIN = "within checkout exec: checkout exec --admin gives it";

/** The refusal if the named sandbox cannot be controlled from here, and the folder has another sandbox. */
function otherSandboxProblem(
  { value: url, source }: ValueWithSource<string>,
  where: string,
  role: ControlRole,
): Problem {
  const by = { control: "checkout env --control prints it", administrator: EXEC_ADMIN };
  const remove = source.startsWith("--") ? "leave out" : "unset";
  const message = `${source} names ${printable(url)}, but ${where}; nothing was done`;
  const next = `for the first set ${TOKEN_VARIABLES[role]} to its token (${by[role]}); for the second ${remove} ${source}, or eval "$(checkout env)"`;
  return { exitCode: EXIT.usage, code: "other_sandbox", message, next };
}
