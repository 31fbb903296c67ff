import * as z from "zod/mini";
import { configOperations } from "../../core/control/operations/config.ts";
import { keyOperations } from "../../core/control/operations/keys.ts";
import { readinessOperations } from "../../core/control/operations/readiness.ts";
import { calibrationRecord } from "../../core/calibration/calibration.ts";
import { commandMap } from "../../core/help/map.ts";
import { capability } from "../../core/readiness/shapes.ts";
import { readyMessage } from "../../core/sandbox/description.ts";
import type { Kind } from "./kind.ts";
import * as shapes from "./shapes.ts";

/** The kinds of results about sandboxes, stores, the launch and this machine. */
export const SANDBOX_KINDS = {
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
    shape: shapes.reachableSandbox,
  },
  status: {
    about: "whether the sandbox of this folder is running, and its address",
    commands: ["sandbox status"],
    jq: ".state",
    shape: shapes.sandboxStatus,
  },
  log_line: {
    about: "one line of the log",
    commands: ["sandbox logs"],
    jq: ".line",
    shape: shapes.logLine,
  },
  stopped: {
    about: "whether a sandbox was stopped",
    commands: ["sandbox stop"],
    jq: ".stopped",
    shape: shapes.stoppedShape,
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
    shape: shapes.variables,
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
    shape: shapes.chosenStore,
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
    shape: shapes.newSecrets,
  },
  checklist: {
    about: "the items of the launch checklist with their evidence; exit 0 if ready, else 3",
    commands: ["checklist"],
    jq: '.items[] | select(.status != "pass").next',
    shape: shapes.checklistReport,
  },
  run: {
    about: "the result of a run against your shop",
    commands: ["run", "run duplicates", "run browser-return", "run idempotency"].map(
      (words) => `checklist ${words}`,
    ),
    jq: ".broken[].cause",
    shape: shapes.runReport,
  },
  webhook_drill: {
    about: "the result of the webhook drill for each endpoint",
    commands: ["checklist run webhooks"],
    jq: ".verdict",
    shape: shapes.webhookDrill,
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
    shape: shapes.exploration,
  },
  shop: {
    about: "the section `shop` that was written",
    commands: ["shop init"],
    jq: ".file",
    shape: shapes.writtenShop,
  },
  shop_trials: {
    about: "whether each part of the section `shop` works",
    commands: ["shop check"],
    jq: ".trials[] | select(.ok | not).text",
    shape: shapes.shopTrials,
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
    shape: shapes.calibration,
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
    shape: shapes.validConfig,
  },
  config_plan: {
    about: "the differences between the file and the sandbox, or the applied changes",
    commands: ["config diff", "config apply"],
    jq: '.changes[] | select(.action != "keep").name',
    shape: z.extend(z.partial(configOperations.applyConfig.answer, { made: true }), {
      ...shapes.configFields,
      same: z.optional(z.boolean()),
    }),
  },
  portal: {
    about: "a sign-in link, or a note that the portal was opened",
    commands: ["open"],
    jq: ".sign_in_url",
    shape: shapes.openedPortal,
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
    shape: shapes.settings,
  },
  doctor: {
    about: "the checks; exit 1 if one finds a problem",
    commands: ["doctor"],
    jq: '.checks[] | select(.status == "problem").next',
    shape: shapes.doctorReport,
  },
  agent_config: {
    about: "the entry of an agent's configuration",
    commands: ["mcp config"],
    jq: ".mcpServers",
    shape: shapes.agentConfig,
  },
  completion_script: {
    about: "the script of a shell",
    commands: ["bash", "zsh", "fish", "powershell"].map((shell) => `completion ${shell}`),
    jq: ".script",
    shape: shapes.completionScript,
  },
  completion_file: {
    about: "the written script",
    commands: ["completion install"],
    jq: ".path",
    shape: shapes.completionFile,
  },
  removed_files: {
    about: "the removed scripts",
    commands: ["completion uninstall"],
    jq: ".removed[]",
    shape: shapes.removedFiles,
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
    shape: shapes.helpTopic,
  },
} as const satisfies Readonly<Record<string, Kind>>;
