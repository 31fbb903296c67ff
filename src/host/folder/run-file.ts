import type { Run } from "../../core/state-files.ts";
import type { Store } from "../../store/store.ts";
import * as state from "./state-folder.ts";
import type { Held, Host } from "../hosting.ts";

/**
 * The `run.json` of a folder that is held. `renew` writes it again where a reset or a restore has changed what it tells;
 * a failure of that is reported, because what it follows from is done.
 */
export function runFile(
  { world, version }: Pick<Host, "world" | "version">,
  held: Held,
  { store, report }: { readonly store: Store; readonly report: (work: string, error: unknown) => void },
) {
  let served: Pick<Run, "port"> | undefined;
  const write = (): void => {
    if (held === undefined || served === undefined) return;
    const told = { version, store_id: store.stores.first()?.id, instance_id: store.instance.id() };
    state.writeRun(world, held.path, { ...held.run, ...served, ...told });
  };
  return {
    write: (port: number): void => {
      // Null where there is no socket: nobody else can ask it anything.
      served = { port: port === 0 ? null : port };
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
