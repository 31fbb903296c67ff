import * as z from "zod/mini";
import { configOperations } from "../../core/control/operations/config.ts";
import { keyOperations } from "../../core/control/operations/keys.ts";
import { readinessOperations } from "../../core/control/operations/readiness.ts";
import { calibrationRecord } from "../../core/calibration/calibration.ts";
import { commandMap } from "../../core/help/map.ts";
import { capability, checklist } from "../../core/readiness/shapes.ts";
import { readyMessage } from "../../core/sandbox/description.ts";
import { faultRequest } from "../../core/fault/shapes.ts";
import { finding, searchResult } from "../../core/judge/shapes.ts";
import { shownDrill } from "../../core/readiness/drill-shapes.ts";
import { hold } from "../../core/webhook/hold.ts";
import { text, textOrNull, texts, type OutputKind } from "./kind.ts";

const { name, ...judgement } = checklist.shape.items.def.element.shape;
const partVerdict = z.enum(["passed", "failed", "unknown"]);
const scheduledFault = z.union([faultRequest, z.object({ action: text, match: z.unknown() })]);
const settingDifferences = z.array(z.object({ field: text, from: text, to: text }));

export const SANDBOX_OUTPUT_KINDS = {
  snapshot: {
    about: "a new or replaced snapshot",
    commands: ["snapshots create"],
    jq: ".snapshot.name",
    operations: ["createSnapshot", "createStoreSnapshot"],
  },
  snapshots: {
    about: "a list of snapshots",
    commands: ["snapshots list"],
    jq: ".snapshots[].name",
    operations: ["listSnapshots"],
  },
  restored: {
    about: "the restored stores",
    commands: ["snapshots restore"],
    jq: ".stores[].store_id",
    operations: ["restoreSnapshot", "restoreStoreSnapshot"],
  },
  removed_snapshot: {
    about: "the removed snapshot",
    commands: ["snapshots remove"],
    jq: ".name",
    operations: ["removeSnapshot"],
  },
  ready: {
    about: "the addresses, key and secrets of a service that is ready; one line",
    commands: ["sandbox start", "hosted dev"],
    jq: ".base_url",
    shape: readyMessage,
  },
  reachable: {
    about: "the address of a sandbox that answers",
    commands: ["sandbox wait"],
    jq: ".base_url",
    shape: z.object({ ok: z.literal(true), baseUrl: text }),
  },
  status: {
    about: "whether the sandbox of this folder is running, and its address",
    commands: ["sandbox status"],
    jq: ".state",
    shape: z.object({
      state: z.enum(["running", "starting", "not_responding", "stopped"]),
      running: z.boolean(),
      dataDir: text,
      baseUrl: textOrNull,
      pid: z.nullable(z.int()),
      version: textOrNull,
      startedAt: textOrNull,
      logFile: textOrNull,
      heldBack: textOrNull,
      hold: z.nullable(hold),
      activeFaults: z.nullable(z.number()),
      instanceId: textOrNull,
      settings: z.nullable(z.record(text, z.unknown())),
      /** Why other fields are null although the sandbox's process is running. */
      problem: textOrNull,
    }),
  },
  log_line: {
    about: "one line of the log",
    commands: ["sandbox logs"],
    jq: ".line",
    shape: z.object({ line: text }),
  },
  stopped: {
    about: "whether a sandbox was stopped",
    commands: ["sandbox stop"],
    jq: ".stopped",
    shape: z.object({
      ok: z.literal(true),
      stopped: z.boolean(),
      pid: z.nullable(z.int()),
      dataDir: text,
    }),
  },
  reset: {
    about: "the stores that were reset",
    commands: ["sandbox reset"],
    jq: ".stores[].store_id",
    operations: ["reset"],
  },
  variables: {
    about: "variables by their names",
    commands: ["env"],
    jq: ".CHECKOUT_API_KEY",
    shape: z.record(text, text),
  },
  store: {
    about: "a new store with its key and secret",
    commands: ["stores create"],
    jq: ".api_key",
    operations: ["createStore"],
  },
  stores: {
    about: "a list of stores",
    commands: ["stores list"],
    jq: ".stores[].store_id",
    operations: ["listStores"],
  },
  chosen_store: {
    about: "the new default store, or the deleted store",
    commands: ["stores use", "stores delete"],
    jq: ".store_id",
    operations: ["deleteStore"],
    shape: z.object({ storeId: text, name: text }),
  },
  store_summary: {
    about: "a store with its merchant, capabilities, prices and keys",
    commands: ["stores show"],
    jq: ".store.name",
    operations: ["storeSummary"],
  },
  capabilities: {
    about: "the payment methods and currencies of a store",
    commands: ["capabilities list"],
    jq: ".capabilities[] | select(.active).name",
    shape: z.object({ storeId: z.string(), capabilities: z.array(capability) }),
  },
  key: {
    about: "a new API key",
    commands: ["keys create"],
    jq: ".api_key",
    operations: ["createKey"],
  },
  token: {
    about: "a new token for a store",
    commands: ["tokens create"],
    jq: ".token",
    operations: ["createToken"],
  },
  tokens: {
    about: "a list of tokens, links and portal sessions",
    commands: ["tokens list"],
    jq: ".tokens[].token_id",
    shape: z.pick(keyOperations.listTokens.answer, { tokens: true }),
  },
  revoked_token: {
    about: "the revoked token or link",
    commands: ["tokens revoke"],
    jq: ".token_id",
    operations: ["revokeToken"],
  },
  keys: {
    about: "a list of API keys",
    commands: ["keys list"],
    jq: ".keys[].key_id",
    shape: z.extend(keyOperations.listKeys.answer, { keptKeyId: z.nullable(z.string()) }),
  },
  revoked_key: {
    about: "the revoked API key",
    commands: ["keys revoke"],
    jq: ".revoked_at",
    shape: z.extend(keyOperations.revokeKey.answer, { kept: z.boolean() }),
  },
  new_secrets: {
    about: "secrets for the environment of `sandbox start`",
    commands: ["keys generate"],
    jq: ".api_key",
    shape: z.object({
      apiKey: text,
      signingSecret: text,
      controlToken: text,
      adminToken: text,
    }),
  },
  checklist: {
    about: "the items of the launch checklist with their evidence; exit 0 if ready, else 3",
    commands: ["checklist"],
    jq: '.items[] | select(.status != "pass").next',
    shape: z.object({
      verdict: checklist.shape.verdict,
      source: z.enum(["sandbox", "service"]),
      service: text,
      storeId: textOrNull,
      judgedAt: text,
      livemode: z.literal(false),
      calibration: z.nullable(
        z.object({
          service: text,
          at: text,
          confirmed: z.array(z.int()),
          contradicted: z.array(z.int()),
          notObserved: z.array(z.int()),
        }),
      ),
      exploration: z.nullable(
        z.object({ schedules: z.int(), broken: z.int(), notJudged: z.int(), at: text }),
      ),
      items: z.array(z.object({ name, title: text, ...judgement })),
    }),
  },
  run: {
    about: "the result of a run against your shop",
    commands: ["run", "run duplicates", "run browser-return", "run idempotency"].map(
      (words) => `checklist ${words}`,
    ),
    jq: ".broken[].cause",
    shape: z.object({
      ok: z.boolean(),
      verdict: z.optional(partVerdict),
      drillId: z.optional(textOrNull),
      steps: z.optional(shownDrill.shape.steps),
      seed: text,
      histories: z.int(),
      held: z.int(),
      interrupted: z.optional(z.literal(true)),
      notRun: z.optional(z.int()),
      nextBudget: z.optional(text),
      broken: z.array(
        z.object({
          invariant: text,
          cause: text,
          places: texts,
          history: text,
          got: text,
          story: texts,
          rerun: text,
        }),
      ),
      notJudged: z.array(
        z.object({ invariant: z.null(), history: textOrNull, reason: text, field: textOrNull }),
      ),
      items: z.array(
        z.object({
          part: text,
          verdict: partVerdict,
          drillId: textOrNull,
          steps: z.int(),
          failed: z.int(),
          failures: z.array(z.object({ name: text, got: text, cause: textOrNull })),
        }),
      ),
    }),
  },
  webhook_drill: {
    about: "the result of the webhook drill for each endpoint",
    commands: ["checklist run webhooks"],
    jq: ".verdict",
    shape: z.object({
      verdict: partVerdict,
      passed: z.boolean(),
      drills: z.array(
        z.extend(z.omit(shownDrill, { id: true, at: true, kind: true }), {
          id: textOrNull,
          kind: z.literal("webhook"),
          at: text,
          verdict: partVerdict,
          endpointId: text,
          url: text,
          order: z.nullable(z.object({ id: text, orderId: text })),
        }),
      ),
    }),
  },
  waiver: {
    about: "the drill that is skipped",
    commands: ["checklist waive"],
    jq: ".drill",
    operations: ["waiveDrill"],
  },
  exploration: {
    about: "the result of a search",
    commands: ["explore"],
    jq: ".broken[].cause",
    shape: z.extend(searchResult, {
      notRun: z.int(),
      broken: z.array(z.extend(finding, { faults: z.array(scheduledFault) })),
      advice: z.array(z.object({ faults: z.array(scheduledFault), text })),
    }),
  },
  shop: {
    about: "the section `shop` that was written",
    commands: ["shop init"],
    jq: ".file",
    shape: z.object({ file: text, shop: z.record(text, z.unknown()) }),
  },
  shop_trials: {
    about: "whether each part of the section `shop` works",
    commands: ["shop check"],
    jq: ".trials[] | select(.ok | not).text",
    shape: z.object({
      ok: z.boolean(),
      trials: z.array(z.object({ field: text, ok: z.boolean(), text })),
    }),
  },
  act: {
    about: "a recorded act of the merchant or the administrator",
    commands: [
      "production request",
      "approve-credential",
      "revoke-credential",
      "activate",
      "deactivate",
      "enable-capability",
      "disable-capability",
      "approve-price",
      "revoke-price",
      "open-gate",
      "close-gate",
    ].map((words) => (words.includes(" ") ? words : `admin ${words}`)),
    jq: ".action",
    operations: ["requestProduction", "adminAct"],
  },
  acts: {
    about: "the recorded acts",
    commands: ["admin log"],
    jq: ".acts[].action",
    operations: ["adminLog"],
  },
  assumptions: {
    about: "the decisions where the interface is silent, each with its first use by your integration",
    commands: ["assumptions"],
    jq: ".assumptions[] | select(.relied_on).title",
    shape: z.extend(readinessOperations.assumptions.answer, { calibration: z.nullable(calibrationRecord) }),
  },
  calibration: {
    about: "the verdict on each assumption at another service",
    commands: ["calibrate"],
    jq: '.assumptions[] | select(.verdict == "contradicted").decision',
    shape: z.extend(calibrationRecord, {
      /** With `--check`: the decisions whose verdict differs from the record. */
      differences: z.optional(z.array(z.int())),
      notObserved: z.optional(z.array(z.int())),
    }),
  },
  config: {
    about: "the configuration file of the running sandbox",
    commands: ["config export"],
    jq: ".stores[].name",
    shape: z.record(z.string(), z.unknown()),
  },
  config_check: {
    about: "a valid configuration file",
    commands: ["config validate"],
    jq: ".stores",
    shape: z.object({ file: text, stores: z.int(), targets: texts }),
  },
  config_plan: {
    about: "the differences between the file and the sandbox, or the applied changes",
    commands: ["config diff", "config apply"],
    jq: '.changes[] | select(.action != "keep").name',
    shape: z.extend(z.partial(configOperations.applyConfig.answer, { made: true }), {
      file: text,
      settings: settingDifferences,
      same: z.optional(z.boolean()),
    }),
  },
  portal: {
    about: "a sign-in link, or a note that the portal was opened",
    commands: ["open"],
    jq: ".sign_in_url",
    shape: z.object({
      opened: z.boolean(),
      signInUrl: textOrNull,
      expiresAt: textOrNull,
    }),
  },
  sign_outs: {
    about: "the number of ended sign-ins",
    commands: ["portal sign-out"],
    jq: ".ended",
    operations: ["endPortalSessions"],
  },
  settings: {
    about: "each setting with its source",
    commands: ["whoami"],
    jq: ".base_url.value",
    shape: z.record(text, z.object({ value: z.nullable(z.union([text, z.number()])), source: text })),
  },
  doctor: {
    about: "the checks; exit 1 if one finds a problem",
    commands: ["doctor"],
    jq: '.checks[] | select(.status == "problem").next',
    shape: z.object({
      version: text,
      at: text,
      ok: z.boolean(),
      checks: z.array(
        z.object({
          check: text,
          status: z.enum(["ok", "warning", "problem", "unknown"]),
          found: text,
          next: textOrNull,
        }),
      ),
    }),
  },
  agent_config: {
    about: "the entry of an agent's configuration",
    commands: ["mcp config"],
    jq: ".mcpServers",
    shape: z.union([
      z.object({ file: text, text }),
      z.record(text, z.record(text, z.object({ command: text, args: texts }))),
    ]),
  },
  completion_script: {
    about: "the script of a shell",
    commands: ["bash", "zsh", "fish", "powershell"].map((shell) => `completion ${shell}`),
    jq: ".script",
    shape: z.object({ shell: text, script: text }),
  },
  completion_file: {
    about: "the written script",
    commands: ["completion install"],
    jq: ".path",
    shape: z.object({ shell: text, path: text, also: text }),
  },
  removed_files: {
    about: "the removed scripts",
    commands: ["completion uninstall"],
    jq: ".removed[]",
    shape: z.object({ removed: texts }),
  },
  help: {
    about: "the map of all commands",
    commands: ["help"],
    jq: ".commands[].name",
    shape: commandMap,
  },
  help_topic: {
    about: "the text of a topic",
    commands: ["help"],
    jq: ".markdown",
    shape: z.object({ topic: text, summary: text, markdown: text, next: text }),
  },
} as const satisfies Readonly<Record<string, OutputKind>>;
