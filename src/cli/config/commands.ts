import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { snakeCase } from "../../core/text.ts";
import { findDifferentSettings } from "../../core/config/settings.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { callControl } from "../../client/control/control.ts";
import { shortPath } from "../../host/folder/state-folder.ts";
import { EXIT, unwrap, problemOf, Refused, refuseUsage } from "../problem.ts";
import { bindToVariable } from "../option-rules.ts";
import { CONFIG_VARIABLE } from "../../host/config/find.ts";
import { loadConfig, type LoadedConfig } from "../../host/config/load.ts";
import { planText, type SettingDifference } from "./report.ts";
import { hideStoreSecrets } from "./running-differences.ts";
import { unwrapAnswer } from "../target/call.ts";
import { callSandbox, requireSandboxTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

type FileOptions = CommonOptions & { readonly file?: string };
type PruneOptions = FileOptions & { readonly prune?: boolean };

export function registerConfig(group: Group): void {
  register<FileOptions>(group, {
    name: "validate",
    usesStore: false,
    summary: "check the file and the variables that it names, without a sandbox",
    exitCodes: { 0: "valid", 2: "not valid" },
    examples: ["checkout config validate", "checkout config validate --file shop.json"],
    options: [fileOption()],
    run: runValidate,
  });
  register<PruneOptions>(group, {
    name: "diff",
    usesStore: false,
    summary:
      "show what apply would change in the running sandbox; exit 0 if nothing would change, 3 otherwise",
    exitCodes: { 0: "the running sandbox matches the file", 3: "apply would change something" },
    examples: ["checkout config diff", "checkout config diff --prune --json"],
    options: [fileOption(), pruneOption("include the removal of")],
    run: runDiff,
  });
  register<PruneOptions>(group, {
    name: "apply",
    usesStore: false,
    summary: "apply the file to the running sandbox, atomically",
    examples: ["checkout config apply", "checkout config apply --prune"],
    options: [fileOption(), pruneOption("also remove")],
    run: runApply,
  });
  register(group, {
    name: "export",
    usesStore: false,
    summary: "export the running sandbox as a configuration file, without secrets",
    examples: ["checkout config export > checkout.config.json"],
    run: runExport,
  });
}

function fileOption() {
  const option = valueOption("--file <file>", {
    text: "configuration file",
    default: "checkout.config.json, here or in a parent folder",
  });
  return bindToVariable("CHECKOUT_SANDBOX", option, "config");
}

function pruneOption(effect: string) {
  return switchOption("--prune", `${effect} items that are missing from the lists of the file`);
}

async function runValidate({ world, printer }: Context, options: FileOptions): Promise<number> {
  const { path, config, stores, failureOfField } = await loadFile({ world }, options);
  const resolvedStores = unwrap(await stores());
  const { unreadVariableFaults } = await import("../../core/config/secrets.ts");
  for (const fault of unreadVariableFaults(config))
    printer.trace(`warning: ${failureOfField(fault).message}`);
  const targets = Object.keys(config.targets ?? {});
  const checkOutput = output("config_check", { file: path, stores: resolvedStores.length, targets });
  return printer.result(checkOutput, () => `✓ ${shortPath(world, path)} is valid`);
}

async function runDiff(context: Context, options: PruneOptions): Promise<number> {
  const { printer } = context;
  const { file, answer, settings } = await applyFile(context, options, { dryRun: true });
  const isSame =
    settings.length === 0 &&
    answer.changes.every(({ action }) => action === "keep" || action === "unmanaged");
  const { changes } = encodeAnswer("applyConfig", answer);
  const planOutput = output("config_plan", { same: isSame, file, changes, settings });
  await printer.result(planOutput, () => planText(answer.changes, settings, printer.style));
  return isSame ? EXIT.done : EXIT.notReady;
}

async function runApply(context: Context, options: PruneOptions): Promise<number> {
  const { printer } = context;
  const { file, answer, settings } = await applyFile(context, options, { dryRun: false });
  const { changes, made } = encodeAnswer("applyConfig", answer);
  const keyLines = answer.made.map(({ name, id, apiKey }) => `  ${name} (${id})  API key ${apiKey}`);
  return printer.result(output("config_plan", { file, changes, made, settings }), () =>
    [planText(answer.changes, settings, printer.style), ...keyLines].join("\n"),
  );
}

async function runExport(context: Context, options: CommonOptions): Promise<number> {
  const runningConfig = await callSandbox(context, { name: "showConfig", body: undefined });
  const { exportConfig } = await import("../../core/config/export.ts");
  const outcome = exportConfig(runningConfig);
  if (!outcome.ok) throw new Refused({ ...outcome.refusal, next: DELETE_STORES_HINT });
  const { value: text } = outcome;
  return context.printer.raw(options.json === true ? `${JSON.stringify(JSON.parse(text))}\n` : text);
}

const DELETE_STORES_HINT =
  "to delete a store: checkout stores delete <id>; to keep all stores in a snapshot: checkout snapshots create <name> --all";

async function loadFile(
  { world }: Pick<Context, "world">,
  { file, trustFolder }: FileOptions,
): Promise<LoadedConfig> {
  const loadedConfig = unwrap(
    await loadConfig(world, {
      ...(file === undefined ? {} : { config: file }),
      ...(trustFolder === undefined ? {} : { trustFolder }),
    }),
  );
  if (loadedConfig !== undefined) return loadedConfig;
  throw refuseUsage(
    "there is no checkout.config.json here or in a parent folder",
    `create one, or name a file with --file or ${CONFIG_VARIABLE}`,
  );
}

async function applyFile(context: Context, options: PruneOptions, { dryRun }: { readonly dryRun: boolean }) {
  const file = await loadFile(context, options);
  const resolvedStores = unwrap(await file.stores());
  const target = await requireSandboxTarget(context);
  hideStoreSecrets(resolvedStores, context.printer);
  const showCall = { name: "showConfig", body: undefined } as const;
  const config = unwrapAnswer(await callControl(context.world, target, showCall));
  const body = { stores: resolvedStores, prune: options.prune === true, dryRun };
  const applyResult = await callControl(context.world, target, { name: "applyConfig", body });
  if (applyResult.end === "refusal" && applyResult.status < 500)
    throw new Refused({
      ...problemOf(file.failureOf({ ...applyResult.error, code: "state_conflict" })),
      code: applyResult.error.code,
    });
  const settings = settingDifferences(file, config);
  return { file: file.path, answer: unwrapAnswer(applyResult), settings };
}

function settingDifferences(
  { config }: LoadedConfig,
  { settings }: AnswerOf<"showConfig">,
): readonly SettingDifference[] {
  return findDifferentSettings(config.sandbox ?? {}, settings).map(({ field, requested, live }) => ({
    field: `sandbox.${snakeCase(field)}`,
    from: live,
    to: requested,
  }));
}
