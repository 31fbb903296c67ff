import { create, type CreateIntent, type Target } from "../../client/api/client.ts";
import type { RetryPolicy } from "../../client/api/retry.ts";
import type { Context } from "../command.ts";
import { judgeCreate, type Created, type Noun } from "./create-report.ts";
import { hosted } from "../problem.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { instanceOf } from "./instance.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import type { Settings } from "../target/service.ts";
import { whileWaiting } from "../target/waiting.ts";

/** Creates with the key that the journal of the state folder holds, and judges what came of it. */
export async function createManaged(
  context: Context,
  options: ServiceOptions,
  wanted: {
    readonly noun: Noun;
    readonly intent: CreateIntent;
    readonly target: Target;
    readonly settings: Settings;
    readonly policy: RetryPolicy;
  },
): Promise<Created> {
  const { world } = context;
  const { noun, intent, policy } = wanted;
  const target = { ...wanted.target, instance: await instanceOf(world, wanted.settings) };
  const folder = wanted.settings.folder.value;
  hosted(makeStateFolder(world, folder, options));
  using journal = openFolderJournal(world, folder);
  const result = await whileWaiting(context, (watch) =>
    create(world, target, { intent, journal, policy, ...watch }),
  );
  const named = options.dir === undefined ? {} : { dir: folder };
  const store = target.storeId === null ? {} : { store: target.storeId };
  // The sandbox of the folder may be on another port by then, and is found again.
  const address = target.locate === undefined ? { "base-url": target.baseUrl } : {};
  const { settings } = wanted;
  const { target: targetName } = settings;
  const service = targetName === undefined ? address : { target: targetName };
  const where = { ...service, ...store, ...named };
  return judgeCreate(context, { noun, request: intent.request, result, where, settings });
}
