import { withService } from "./with-service.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { describeSandbox } from "../sandbox/describe.ts";
import { signInLink } from "../sandbox/runtime/portal-access.ts";
import { stateFile } from "./folder/files.ts";
import { watchForLostFiles } from "./folder/loss.ts";
import { holdFolder } from "./folder/hold.ts";
import * as state from "./folder/state-folder.ts";
import { readGivenSecrets, refuseOtherSecret } from "./given-secrets.ts";
import { readyMessageOf } from "./ready.ts";
import type { HostFailure } from "./failure.ts";
import { retryWhileLocked, lostLogWarning } from "./state.ts";
import { checkFirstPort, requireOwnHost, warnAboutExposure, listenOnPort } from "./listen.ts";
import type { ServeOptions } from "./options.ts";
import type { StateLocation, HostContext, SandboxSource, ServeCallbacks } from "./hosting.ts";

const DRAIN_TIMEOUT_MS = 800;

/** Serves while `use` runs. On return, everything is on disk and the folder is released. */
export async function serveSandbox<Value>(
  context: HostContext,
  options: ServeOptions,
  { location, ...callbacks }: ServeCallbacks<Value> & { readonly location: StateLocation },
): Promise<Outcome<Value, HostFailure>> {
  const { world, isGuest } = context;
  const { folder } = location;
  const hostCheck = requireOwnHost(options);
  if (!hostCheck.ok) return hostCheck;
  const exposure = warnAboutExposure(context, options);
  if (!exposure.ok) return exposure;
  const secrets = readGivenSecrets(world);
  if (!secrets.ok) return secrets;
  const givenSecrets = secrets.value;
  // The environment can give the token, because clients of an ephemeral sandbox have no file to read it from.
  const controlToken = givenSecrets.controlToken?.value ?? state.newToken(world, "control");
  const source = { location, secrets: givenSecrets, ...callbacks };
  if (folder === undefined) {
    const adminToken = givenSecrets.adminToken?.value ?? state.newToken(world, "administrator");
    const tokens = { controlToken, adminToken };
    return serveFolder(context, options, { ...source, heldFolder: undefined, tokens });
  }
  const portCheck = await checkFirstPort(world, folder, options);
  if (!portCheck.ok) return portCheck;
  const folderResult = state.makeStateFolder(world, folder, options);
  if (!folderResult.ok) return folderResult;
  const lossWarning = lostLogWarning(world, folder);
  const hold = await holdFolder(world, folder, { control_token: controlToken, is_guest: isGuest });
  if (!hold.ok) return hold;
  if (lossWarning !== undefined) context.printer.trace(lossWarning);
  try {
    const adminToken = state.readOrCreateAdminToken(world, folder, givenSecrets.adminToken?.value);
    if (!adminToken.ok) return adminToken;
    if (givenSecrets.adminToken !== undefined && givenSecrets.adminToken.value !== adminToken.value)
      return refuseOtherSecret(givenSecrets.adminToken, "admin token");
    const tokens = { controlToken, adminToken: adminToken.value };
    const heldFolder = { path: folder, run: hold.value.run };
    return await serveFolder(context, options, { ...source, heldFolder, tokens });
  } finally {
    hold.value.release();
  }
}

const START_COMMAND = "checkout sandbox start";

function serveFolder<Value>(
  context: HostContext,
  options: ServeOptions,
  { announce, use, ...source }: SandboxSource & ServeCallbacks<Value>,
): Promise<Outcome<Value, HostFailure>> {
  return withService(
    context,
    options,
    source,
    async ({ service, apiKey, runFile, stopRequest, markUsed }) => {
      const listenResult = await listenOnPort(context, options, service);
      if (!listenResult.ok) return listenResult;
      const { listener, sandbox } = listenResult.value;
      const startResult = await retryWhileLocked(sandbox.start);
      if (!startResult.ok) return startResult;
      const { portal } = sandbox.context;
      const signInUrl = portal.isOff ? null : signInLink(portal, portal.issueCode().code);
      const description = describeSandbox(sandbox.context);
      const { heldFolder, secrets, tokens } = source;
      const { controlToken, adminToken } = tokens;
      const ownAccess = { apiKey, controlToken, alreadyRunning: false, signInUrl };
      runFile.write(listener.port);
      markUsed();
      // Before the announcement, because its reader may delete the folder immediately.
      const watchedFiles = heldFolder === undefined ? [] : [stateFile(heldFolder.path, "database")];
      const watch = watchForLostFiles(context.world, watchedFiles, START_COMMAND);
      try {
        const servedSandbox = {
          ready: readyMessageOf(description, ownAccess),
          description,
          secrets,
          adminToken,
          sandbox,
          stopRequest,
          stateLoss: watch.failure,
        };
        await announce?.(servedSandbox);
        sandbox.markAnnounced();
        return accept(await use(servedSandbox));
      } finally {
        watch.stop();
        await Promise.all([sandbox.stop(DRAIN_TIMEOUT_MS), listener.close(DRAIN_TIMEOUT_MS)]);
      }
    },
  );
}
