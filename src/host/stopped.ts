import { lostLogWarning } from "./state.ts";
import { localOrigin } from "../core/loopback.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import type { OutboundRequest, OutboundResult } from "../world.ts";
import type { HostFailure } from "./failure.ts";
import { holdFolder } from "./folder/hold.ts";
import * as state from "./folder/state-folder.ts";
import type { HostContext } from "./hosting.ts";
import { createSandboxOnPort } from "./listen.ts";
import { withService } from "./with-service.ts";
import { sendToService } from "./within.ts";

type ReachableSandbox = {
  readonly origin: string;
  readonly token: string;
  readonly send: (request: OutboundRequest) => Promise<OutboundResult>;
};

/** Runs `use` on the state of a stopped sandbox, without socket and timers. */
export async function withStoppedFolder<Value>(
  context: HostContext,
  folder: string,
  use: (sandbox: ReachableSandbox) => Promise<Value>,
): Promise<Outcome<Value, HostFailure>> {
  const { world } = context;
  const lossWarning = lostLogWarning(world, folder);
  const [token, adminToken] = [state.newToken(world, "control"), state.newToken(world, "administrator")];
  const hold = await holdFolder(world, folder, { control_token: token });
  if (!hold.ok) return hold;
  if (lossWarning !== undefined) context.printer.trace(lossWarning);
  const source = {
    heldFolder: { path: folder, run: hold.value.run },
    location: { folder, log: createWarningLog(context) },
    tokens: { controlToken: token, adminToken },
    secrets: {},
  };
  try {
    return await withService(context, { quiet: true }, source, async ({ service, markUsed }) => {
      markUsed();
      const sandbox = createSandboxOnPort(context, {}, { ...service, isAsleep: true, port: 0 });
      const send = (request: OutboundRequest) => sendToService(sandbox.service.answer, request);
      try {
        return accept(await use({ origin: localOrigin(0), token, send }));
      } finally {
        await sandbox.stop(0);
      }
    });
  } finally {
    hold.value.release();
  }
}

function createWarningLog({ printer }: Pick<HostContext, "printer">) {
  return {
    writableNeedDrain: false,
    write: (text: string): void => printer.trace(`warning: ${text.trimEnd().replace(/^\S+Z +/, "")}`),
  };
}
