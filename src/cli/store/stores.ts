import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { toIso } from "../../core/clock.ts";
import { NEW_MERCHANT } from "../../core/control/operations/stores.ts";
import { displayStoreName, storeNameFault } from "../../core/config/store-name.ts";
import { runnerFor } from "../calling.ts";
import { optionParser, register, valueOption, type Context, type Group } from "../command.ts";
import { readDialectFile } from "../../host/config/dialect-file.ts";
import { writeChosenStore } from "../../host/folder/state-folder.ts";
import { parseUuid } from "../parsers.ts";
import { fieldLines, secretText, type Printer } from "../printer.ts";
import { refuseUsage, unwrap } from "../problem.ts";
import { table } from "../table.ts";
import { type CommonOptions, isOwnSandbox, requireOneStore } from "../target/surroundings.ts";
import { callAt } from "../target/call.ts";
import { requireSandboxTarget } from "../target/control.ts";
import { output } from "../output/output.ts";

type CreateOptions = CommonOptions &
  Pick<RequestOf<"createStore">, "name" | "merchant"> & { readonly dialect?: string };

export function registerStores(group: Group): void {
  register<CreateOptions>(group, {
    name: "create",
    usesStore: false,
    summary: "create a store with its own API key, signing secret and catalog",
    examples: [
      "checkout stores create --name 'Tea Shop'",
      "checkout stores create --name 'Tea Shop' --merchant new --json",
    ],
    options: [
      valueOption("--name <name>", {
        text: "name of the store, 1 to 64 characters; stores may share a name",
        default: "Sandbox Store",
      }),
      valueOption(
        "--merchant <id|new>",
        {
          text: "merchant of the store, or new for a new merchant",
          default: "the merchant of the first store",
        },
        parseMerchant,
      ),
      valueOption("--dialect <file>", {
        text: "file with the store's dialect, written by calibrate --write-dialect",
        default: "the dialect of sandbox start --like",
      }),
    ],
    run: runnerFor("createStore", {
      body: async ({ name, merchant, dialect: file }, { context: { world } }) => {
        const dialect = file === undefined ? undefined : unwrap(await readDialectFile(world, file));
        const fault = name === undefined ? undefined : storeNameFault(name)?.[0];
        if (fault === undefined) return { name, merchant, dialect };
        throw refuseUsage(`--name ${fault}`, "correct it; no store was created");
      },
      remedies: { not_found: "checkout stores list --json shows the merchants" },
      text: createResultText,
    }),
  });
  register(group, {
    name: "list",
    usesStore: false,
    summary: "list the stores of the sandbox, oldest first",
    examples: ["checkout stores list", "checkout stores list --json"],
    run: runnerFor("listStores", {
      text: ({ stores }, { width, style }) =>
        table(
          ["STORE", "NAME", "MERCHANT", "ACTIVE", "CREATED"],
          stores.map(({ storeId, name, merchantId, active, createdAt }) => [
            storeId,
            displayStoreName(name),
            merchantId,
            active ? "yes" : "no",
            toIso(createdAt),
          ]),
          { width, style, drop: ["MERCHANT", "CREATED"], keep: ["STORE"] },
        ),
    }),
  });
  register(group, {
    name: "use <id|name>",
    usesStore: false,
    summary: "set the default store for this folder",
    examples: ["checkout stores use 'Tea Shop'", "checkout stores use <id>"],
    run: runUse,
  });
}

function createResultText(store: AnswerOf<"createStore">, printer: Printer): string {
  const { storeId } = store;
  const envCommand = `checkout env --store ${storeId}`;
  return [
    `${printer.style.green("✓")} store created`,
    fieldLines([
      ["store_id", storeId],
      ["name", store.name],
      ["merchant_id", store.merchantId],
      ["api_key", secretText(printer, store.apiKey, envCommand)],
      ["signing_secret", secretText(printer, store.signingSecret, envCommand)],
    ]),
    printer.style.dim(`  to make it the default store of this folder: checkout stores use ${storeId}`),
  ].join("\n");
}

const parseMerchant = optionParser(`the id of a merchant, or ${NEW_MERCHANT}`, (text) =>
  text === NEW_MERCHANT ? text : parseUuid(text),
);

async function runUse(context: Context, _options: CommonOptions, text = ""): Promise<number> {
  const { world, printer, around } = context;
  const target = await requireSandboxTarget(context);
  const folder = around.folder();
  around.run();
  if (!isOwnSandbox(around, target.origin)) {
    const message = `CHECKOUT_BASE_URL does not name the sandbox of ${folder}`;
    throw refuseUsage(message, "unset it, or name a store of that sandbox with CHECKOUT_STORE_ID");
  }
  const { stores } = await callAt(context, target, { name: "listStores", body: undefined });
  const { storeId: id, name } = requireOneStore(stores, text);
  writeChosenStore(world, folder, id);
  if (around.storeId !== undefined && around.storeId.value !== id)
    printer.trace("note: CHECKOUT_STORE_ID names another store, and overrides this default");
  return printer.result(
    output("chosen_store", { store_id: id, name }),
    () => `the default store of this folder is ${displayStoreName(name)} (${id})`,
  );
}
