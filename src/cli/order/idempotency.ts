import { toIso } from "../../core/clock.ts";
import type { Journal, JournalEntry } from "../../core/checkout/journal.ts";
import { register, type Context, type Group } from "../command.ts";
import { fieldLines } from "../printer.ts";
import { table } from "../table.ts";
import { Refused } from "../problem.ts";
import { execFolder, type CommonOptions } from "../target/surroundings.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { stateFile } from "../../host/folder/files.ts";
import { output } from "../output/output.ts";

export function registerIdempotency(group: Group): void {
  register(group, {
    name: "list",
    usesStore: false,
    summary: "list the idempotency keys sent from this folder, with their results",
    examples: ["checkout idempotency list", "checkout idempotency list --json"],
    run: withJournal(listKeys),
  });
  register(group, {
    name: "show <key>",
    usesStore: false,
    summary: "show an idempotency key with its request",
    examples: ["checkout idempotency show co-4f1d…-1"],
    run: withJournal(showKey),
  });
  register(group, {
    name: "forget <key>",
    usesStore: false,
    summary: "remove an idempotency key from the journal; the service still knows it",
    examples: ["checkout idempotency forget co-4f1d…-1"],
    run: withJournal(forgetKey),
  });
}

function withJournal(act: (context: Context, journal: Journal | undefined, key: string) => Promise<number>) {
  return async (context: Context, _options: CommonOptions, key = ""): Promise<number> => {
    const { world } = context;
    const folder = execFolder(world, context.around) ?? context.around.folder();
    if (!world.files.exists(stateFile(folder, "journal"))) return act(context, undefined, key);
    using journal = openFolderJournal(context, folder);
    return await act(context, journal, key);
  };
}

function listKeys({ printer }: Context, journal: Journal | undefined): Promise<number> {
  const entries = journal?.list() ?? [];
  const rows = entries.map((entry) => [
    entry.state,
    entry.orderId,
    toIso(entry.firstSentAt).slice(0, 16).replace("T", " "),
    entry.key,
  ]);
  return printer.result(output("idempotency_keys", entries.map(toJson)), () =>
    rows.length === 0
      ? "no order or session was created from this folder yet"
      : table(["STATE", "ORDER ID", "SENT (UTC)", "KEY"], rows, {
          width: printer.width,
          style: printer.style,
          drop: ["SENT (UTC)"],
          keep: ["KEY"],
        }),
  );
}

async function showKey({ printer }: Context, journal: Journal | undefined, key: string): Promise<number> {
  const entry = journal?.find(key);
  if (entry === undefined) throw refuseUnknownKey(key);
  const json = toJson(entry);
  return printer.result(output("idempotency_key", json), () =>
    fieldLines(Object.entries(json).map(([name, value]) => [name, value === null ? null : String(value)])),
  );
}

async function forgetKey({ printer }: Context, journal: Journal | undefined, key: string): Promise<number> {
  if (journal?.forget(key) !== true) throw refuseUnknownKey(key);
  return printer.result(
    output("forgotten_key", { forgotten: key }),
    () =>
      `${key} was removed from the journal; the service still knows it, and the next run uses the previous attempt`,
  );
}

function toJson(entry: JournalEntry) {
  return {
    key: entry.key,
    state: entry.state,
    service: entry.service,
    store_id: entry.storeId,
    endpoint: entry.endpoint,
    order_id: entry.orderId,
    attempt: entry.attempt,
    request: entry.body,
    checkout_id: entry.checkoutId,
    in_doubt: entry.inDoubt,
    code: entry.code,
    first_sent_at: toIso(entry.firstSentAt),
    updated_at: toIso(entry.updatedAt),
  };
}

function refuseUnknownKey(key: string): Refused {
  const message = `the journal has no key ${key}`;
  return new Refused({ code: "key_not_found", message, next: "checkout idempotency list" });
}
