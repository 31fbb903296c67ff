import { createAccessLog, SILENT_LOG } from "../sandbox/runtime/access-log.ts";
import { createFailureLog } from "../sandbox/runtime/failure-log.ts";
import { storeOfAnyKey } from "../sandbox/api/caller.ts";
import { createRequestLog } from "../sandbox/runtime/request-log.ts";
import { openRequestFile } from "../store/request/request-file.ts";
import { DEFAULT_KEPT_REQUESTS } from "../core/request/logged-request.ts";
import { IN_MEMORY } from "../store/connection/database.ts";
import type { Store } from "../store/store.ts";
import type { GuestWorld } from "../world.ts";
import { stateFile } from "./folder/files.ts";
import type { SandboxSource } from "./hosting.ts";
import type { ServeOptions } from "./options.ts";

export function openLogs(
  world: GuestWorld,
  {
    logFormat: format = "text",
    quiet = false,
    keptRequests = DEFAULT_KEPT_REQUESTS,
    startClock,
  }: ServeOptions,
  { heldFolder, location, store }: Pick<SandboxSource, "heldFolder" | "location"> & { readonly store: Store },
) {
  const { log: stream, formatId } = location;
  const failureLog = createFailureLog(world, { format, stream });
  const path = heldFolder === undefined ? IN_MEMORY : stateFile(heldFolder.path, "requests");
  const report = (problem: unknown): void => failureLog.report("request log", problem);
  return {
    accessLog: quiet ? SILENT_LOG : createAccessLog(world, { format, stream, formatId }),
    failureLog,
    requestLog: createRequestLog(world, {
      open: () => openRequestFile(path, { nativeBinding: world.sqliteAddon(), pid: world.pid, report }),
      ownerOf: (request) => storeOfAnyKey(store, request) ?? { storeId: store.stores.first()?.id },
      maxRequests: keptRequests,
      startClock,
      report,
    }),
  };
}
