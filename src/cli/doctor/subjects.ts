import { lazyValue } from "../../core/lazy.ts";
import { localOrigin } from "../../core/loopback.ts";
import { resultOrUndefined } from "../../core/outcome.ts";
import { callControl, type CallOperation } from "../../client/control/control.ts";
import type { Context } from "../command.ts";
import { isSecretVariable, secretValuesIn } from "../../core/request/redaction.ts";
import { stateFile } from "../../host/folder/files.ts";
import { checkFolderTrust } from "../../host/folder/trust.ts";
import { catchRefusal } from "../problem.ts";
import { fetchHealth } from "../sandbox/running.ts";
import { unwrapAnswer } from "../target/call.ts";
import type { KnownVariables } from "../variables.ts";
import { findSandboxTarget, findFolderSandboxTarget, resolveStore } from "../target/control.ts";

/** `warning`: works, but perhaps not as expected. `unknown`: could not be checked, for the reason in `found`. */
export type Finding = readonly [
  status: "ok" | "warning" | "problem" | "unknown",
  found: string,
  next?: string | undefined,
];

/** A check changes nothing, and sends requests only to this machine or to a sandbox. It may throw `Refused`. */
export type Check = (subjects: CheckSubjects) => Finding | Promise<Finding>;

export function folderCheck(check: Check): Check {
  return (subjects) =>
    subjects.checkTrust().ok ? check(subjects) : ["unknown", "the state folder is not read"];
}

export const CLOCK_TOLERANCE_MS = 5000;
const REQUEST_TIMEOUT_MS = 5000;

export function createCheckSubjects(context: Context, listVariables: () => Promise<KnownVariables>) {
  const folder = context.around.location();
  const findRun = lazyValue(() => catchRefusal(context.around.run).value);
  return {
    context,
    folder,
    listVariables,
    checkTrust: lazyValue(() => checkFolderTrust(context.world, folder, context.around.options)),
    findRun,
    readHealth: lazyValue(async () => {
      const { port = null } = findRun() ?? {};
      if (port === null) return undefined;
      const { world } = context;
      const startedAt = world.monotonic();
      const answer = await fetchHealth(world, localOrigin(port), { timeoutMs: REQUEST_TIMEOUT_MS });
      return { answer, ms: world.monotonic() - startedAt };
    }),
  };
}

export type CheckSubjects = Readonly<ReturnType<typeof createCheckSubjects>>;

export function sandboxCheck(check: (ask: CallOperation, context: Context) => Promise<Finding>): Check {
  const run = async ({ context, readHealth }: CheckSubjects): Promise<Finding> => {
    const folderSandbox = catchRefusal(() => findFolderSandboxTarget(context)).value;
    const sandbox = folderSandbox ?? catchRefusal(() => findSandboxTarget(context)).value;
    if (sandbox === undefined || (await readHealth())?.answer.ok === false)
      return ["unknown", "no sandbox answers"];
    const quietSandbox = { ...sandbox, onOtherVersion: () => undefined, timeoutMs: REQUEST_TIMEOUT_MS };
    const target = await resolveStore(context, quietSandbox);
    return check(async (call) => unwrapAnswer(await callControl(context.world, target, call)), context);
  };
  return async (subjects) => {
    const { ok, value, refusal } = await catchRefusal(run(subjects));
    return ok ? value : ["unknown", refusal.message, refusal.next];
  };
}

export function knownSecrets({ context: { world }, folder, checkTrust }: CheckSubjects): readonly string[] {
  const envValues = Object.entries(world.env).flatMap(([name, value = ""]) => {
    if (isSecretVariable(name)) return [value];
    const password = URL.canParse(value) ? new URL(value).password : "";
    return [password, resultOrUndefined(() => decodeURIComponent(password)) ?? password];
  });
  if (resultOrUndefined(() => checkTrust().ok) !== true) return envValues;
  const read = (file: Parameters<typeof stateFile>[1]): string =>
    resultOrUndefined(() => world.files.read(stateFile(folder, file))) ?? "";
  const texts = (["credentials", "admin", "run"] as const).map(read).join("\n");
  return [...envValues, ...secretValuesIn(texts), read("masterKey").trim()];
}
