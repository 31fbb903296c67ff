import type { RunRecord } from "../../core/state-files.ts";
import { openingOfEmptyLog } from "../../store/connection/database.ts";
import type { Store } from "../../store/store.ts";
import { stateFile } from "./files.ts";
import * as state from "./state-folder.ts";
import type { HeldFolder, HostContext } from "../hosting.ts";

/** An error of `renew` is only reported, because the reset or restore before it is complete. */
export function createRunFile(
  { world, version }: Pick<HostContext, "world" | "version">,
  heldFolder: HeldFolder,
  { store, report }: { readonly store: Store; readonly report: (work: string, error: unknown) => void },
) {
  let portField: Pick<RunRecord, "port"> | undefined;
  const write = (): void => {
    if (heldFolder === undefined || portField === undefined) return;
    const identity = { version, store_id: store.stores.first()?.id, instance_id: store.instance.id() };
    const opening = openingOfEmptyLog(stateFile(heldFolder.path, "database"));
    state.writeRunRecord(world, heldFolder.path, { ...heldFolder.run, ...portField, ...identity, opening });
  };
  return {
    write: (port: number): void => {
      // Null for a sandbox without a socket, which no other process can reach.
      portField = { port: port === 0 ? null : port };
      write();
    },
    renew: (): void => {
      try {
        write();
      } catch (error) {
        report("run.json", error);
      }
    },
  };
}
