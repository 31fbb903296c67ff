import type { ControlTarget } from "../../client/control/control.ts";
import type { LeaseRequest } from "../../client/control/lease.ts";
import {
  CONTROL_OPERATIONS,
  folderTokenRole,
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
import { noteTarget, noteVersion } from "./notes.ts";
import {
  findNamedStore,
  requireOneStore,
  TOKEN_VARIABLES,
  isOwnSandbox,
  surroundingsForOrigin,
  withoutFolder,
  withSource,
} from "./surroundings.ts";
import { callAt, runUnderLease, type CallWithRemedies } from "./call.ts";
import { awaitSandbox, limitFromVariable, misspellingHint } from "./options.ts";

export async function callSandbox<Name extends OperationName>(
  context: Context,
  call: CallWithRemedies<Name>,
  target?: ControlTarget,
): Promise<AnswerOf<Name>> {
  if (target !== undefined) return callAt(context, target, call);
  const find = CONTROL_OPERATIONS[call.name].path.includes("{store_id}")
    ? requireControlTarget
    : requireSandboxTarget;
  return callAt(context, await find(context, folderTokenRole(call.name)), call);
}

/** Acts on the running sandbox, or else on the folder's state. `folder`: undefined for a sandbox of another folder. */
export async function withSandbox<Value>(
  context: Context,
  act: (target: ControlTarget, folder: string | undefined) => Promise<Value>,
): Promise<Value> {
  const { around, world, version } = context;
  const target = findSandboxTarget(context);
  noteTarget(context, target?.origin);
  if (target !== undefined)
    return act(target, isOwnSandbox(around, target.origin) ? around.location() : undefined);
  const folder = around.folder();
  if (!world.files.exists(stateFile(folder, "database"))) {
    const message = `there is no state in ${folder}, and no sandbox is running there`;
    throw new Refused({ exitCode: EXIT.unreachable, code: "no_sandbox", message, next: START_SANDBOX });
  }
  const { withStoppedFolder } = await import("../../host/stopped.ts");
  // No other process is involved here, so a failure must not have the exit code of an unreachable service.
  const toLocalFailure = (problem: Problem): Problem =>
    problem.exitCode === EXIT.unreachable ? { ...problem, exitCode: EXIT.failed } : problem;
  const runAction = async (sandbox: Omit<ControlTarget, "version">) =>
    unwrap(await catchRefusal(act({ ...sandbox, version }, folder)), toLocalFailure);
  return unwrap(await withStoppedFolder(context, folder, runAction));
}

export async function requireControlTarget(
  context: Context,
  role: ControlRole = "control",
): Promise<ControlTarget> {
  return resolveStore(context, await requireSandboxTarget(context, role));
}

/** Without a store, calls act on the first store. Only a store's name needs a request (decision 90). */
export async function resolveStore(
  context: Context,
  target: ControlTarget,
  text = storeFor(context, target),
): Promise<ControlTarget> {
  if (text === undefined) return target;
  if (isUuid(text)) return { ...target, storeId: text.toLowerCase() };
  const sandbox = target.send === undefined ? catchRefusal(() => findSandboxTarget(context)).value : target;
  const { stores } =
    sandbox?.origin === target.origin
      ? await callAt(context, sandbox, { name: "listStores", body: undefined })
      : { stores: [] };
  return { ...target, storeId: requireOneStore(stores, text).storeId };
}

function storeFor(context: Context, { origin, send }: ControlTarget): string | undefined {
  const surroundings = surroundingsForOrigin(context.around, origin);
  // A target with `send` is the state of this folder, opened in this process.
  const isOwn = send !== undefined || isOwnSandbox(surroundings, origin);
  const usable = catchRefusal(surroundings.folder).ok ? surroundings : withoutFolder(surroundings);
  const { value, source } = findNamedStore(usable, isOwn) ?? {};
  if (value === undefined || usable.storeFlag !== undefined || isUuid(value)) return value;
  throw refuseUsage(`${source} must be the id of a store; got ${printableLiteral(value)}`, STORES_HINT);
}

export async function findControlTarget(context: Context): Promise<ControlTarget | undefined> {
  const sandbox = findSandboxTarget(context);
  return sandbox && resolveStore(context, sandbox);
}

/**
 * May wait for the start of the folder's sandbox. Only a store token is sent to another machine, and only to the address
 * in `CHECKOUT_BASE_URL` (decision 64).
 */
export async function requireSandboxTarget(
  context: Context,
  role: ControlRole = "control",
): Promise<ControlTarget> {
  const sandbox = await awaitSandbox(context, () => findSandboxTarget(context, role));
  if (sandbox === undefined) throw new Refused(noTargetProblem(context, role));
  noteTarget(context, sandbox.origin);
  return sandbox;
}

/** `ownTarget`: the folder's running sandbox, if another sandbox is named. */
function noTargetProblem({ world, around }: Context, role: ControlRole, ownTarget?: ControlTarget): Problem {
  const folder = around.location();
  const token = TOKEN_VARIABLES[role];
  const address = around.address();
  if (address === undefined) {
    const hints = `${misspellingHint(world, "CHECKOUT_BASE_URL")})${stateFolderHint(world, folder)}`;
    return noSandboxProblem(folder, `no other sandbox is named (CHECKOUT_BASE_URL and ${token}${hints}`);
  }
  const { value: url, source } = address;
  const execHint = "within checkout exec: checkout exec --admin gives it";
  if (ownTarget !== undefined) {
    const hint = role === "control" ? "checkout env --control prints it" : execHint;
    const removeText = source.startsWith("--") ? "leave out" : "unset";
    const message = `${source} names ${printable(url)}, but the sandbox of ${printable(around.shownFolder())} is ${ownTarget.origin}/v1; nothing was done`;
    const next = `for the first set ${token} to its token (${hint}); for the second ${removeText} ${source}, or eval "$(checkout env)"`;
    return { exitCode: EXIT.usage, code: "other_sandbox", message, next };
  }
  if (isAdminTokenWithheld(world, role)) {
    const message = `${token} is missing${misspellingHint(world, token)}, and ${printable(url)} (${source}) needs it; checkout exec withholds it from its command`;
    const next = `${execHint}; elsewhere set ${token} to the token of the sandbox's admin.json`;
    return missingCredential(message, next);
  }
  const reason = `for ${url} (${source}) no token is set (${token}${misspellingHint(world, token)})`;
  const tokenHint = " to its token, which its ready line and checkout env --control in its folder print";
  const setHint = `set ${token}${role === "control" ? tokenHint : ""}`;
  const { port } = new URL(url);
  const isFolderAddress = world.files.exists(folder) && isSameServer(url, localOrigin(Number(port)));
  const startHint = `checkout sandbox start --port ${port} starts this folder's sandbox there`;
  return {
    ...noSandboxProblem(folder, reason),
    next: isFolderAddress ? `${startHint}; for another sandbox, ${setHint}` : setHint,
  };
}

/**
 * Another sandbox on this machine needs its own token. A store token overrides the folder's token, so that a command has
 * only the rights that its user was given.
 */
export function findSandboxTarget(
  context: Context,
  role: ControlRole = "control",
): ControlTarget | undefined {
  const { world, printer, around } = context;
  const address = around.address();
  const ownTarget = catchRefusal(() => findFolderSandboxTarget(context, role));
  const hasStoreToken = role === "control" && isStoreToken(world.env[TOKEN_VARIABLES.control] ?? "");
  const withToken = (origin: string): ControlTarget => targetAt(context, origin, tokenIn(world, role));
  if (address === undefined) {
    const target = unwrap(ownTarget);
    return hasStoreToken && target !== undefined ? withToken(target.origin) : target;
  }
  const { value: url, source } = address;
  const { origin, hostname } = new URL(url);
  const isLocal = isLoopback(hostname);
  if (hasStoreToken) {
    const { value: addressOfKey } = around.addressOfKey() ?? address;
    if (!isSameServer(url, addressOfKey))
      throw refuseUsage(
        `the token of a store goes only to ${printable(addressOfKey)} (CHECKOUT_BASE_URL), not to ${printable(url)}`,
        "set CHECKOUT_BASE_URL and CHECKOUT_CONTROL_TOKEN for the same sandbox",
      );
    if (!isLocal && url.startsWith("http:"))
      printer.traceOnce(`warning: the token goes to ${printable(url)} unencrypted; use https`);
    return withToken(origin);
  }
  if (ownTarget.value !== undefined && isSameServer(url, ownTarget.value.origin)) return ownTarget.value;
  if (tokenIn(world, role) === "") {
    // Refused here, because waiting for the folder's sandbox would not provide the other sandbox's token.
    if (around.ownUrl() === undefined ? isAdminTokenWithheld(world, role) : isLocal && ownTarget.ok)
      throw new Refused(noTargetProblem(context, role, ownTarget.value));
    return unwrap(ownTarget);
  }
  if (isLocal) return withToken(origin);
  throw refuseUsage(
    `${source} names another machine, and the token of an owner never leaves this one`,
    "set CHECKOUT_CONTROL_TOKEN to the token of a store (checkout tokens create), or unset the address",
  );
}

/** With only a store token, creates an API key for `act`, revoked when `act` ends or after `timeoutMs`. */
export function withStoreKey<Value>(
  context: Context,
  control: ControlTarget,
  { act, ...limits }: Omit<LeaseRequest, "drill"> & { readonly act: (context: Context) => Promise<Value> },
): Promise<Value> {
  const { around } = context;
  const hasKey = around.apiKey !== undefined || isOwnSandbox(around, control.origin);
  if (hasKey || !isStoreToken(control.token)) return act(context);
  return runUnderLease(context, control, { drill: "key", ...limits }, ({ apiKey }) =>
    act({ ...context, around: { ...around, apiKey: withSource(apiKey, "a key for this command") } }),
  );
}

export function findFolderSandboxTarget(
  context: Context,
  role: ControlRole = "control",
): ControlTarget | undefined {
  const { world, around } = context;
  const { port = null, control_token: runToken } = around.run() ?? {};
  if (port === null) return undefined;
  const token = role === "control" ? runToken : tokenIn(world, role) || around.adminToken();
  if (token !== undefined) return targetAt(context, localOrigin(port), token);
  const message = `there is no admin.json in ${around.location()}, so there is no admin token`;
  throw new Refused(missingCredential(message, "the next start creates it: checkout sandbox start"));
}

function targetAt(context: Context, origin: string, token: string): ControlTarget {
  const { version, world, printer } = context;
  printer.hide(token);
  const onOtherVersion = (otherVersion?: string): void => noteVersion(context, otherVersion);
  return { origin, token, version, onOtherVersion, timeoutMs: limitFromVariable(world.env, "timeout") };
}

/** Empty if no token is set. Refuses a token that is not valid in a header. */
function tokenIn({ env }: World, role: ControlRole): string {
  const name = TOKEN_VARIABLES[role];
  const token = env[name] ?? "";
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  // The value is not shown, because it may be part of a secret.
  const message = `${name} must be a token of printable ASCII characters; a token with … is shortened for display`;
  throw refuseUsage(message, "checkout env --control prints the whole token");
}

function isAdminTokenWithheld(world: World, role: ControlRole): boolean {
  return role === "administrator" && tokenIn(world, role) === "" && tokenIn(world, "control") !== "";
}
