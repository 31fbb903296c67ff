import { english } from "../../core/language.ts";
import { partWords } from "../../core/fact.ts";
import type { Hold } from "../../core/webhook/hold.ts";
import { assignmentCommand, shellOf } from "../../core/shell/quote.ts";
import type { Context } from "../command.ts";
import { Refused } from "../problem.ts";
import { adaptHintToTypedLine } from "../hints/again.ts";
import { fieldLines, secretText } from "../printer.ts";
import { shortPath } from "../../host/folder/state-folder.ts";
import type { GivenSecrets } from "../../host/given-secrets.ts";
import type { ReadyMessage } from "../../host/ready.ts";
import type { SandboxDescription } from "../../core/sandbox/description.ts";

export function refuseLostReadyLine(): Refused {
  return new Refused({
    code: "output_failed",
    message: "the ready line could not be printed, so the sandbox was stopped",
    next: "free space for the output, and start the sandbox again",
  });
}

export function activeFaultsText(count: number | null): string | undefined {
  return count === null || count === 0 ? undefined : `${count} active: checkout faults list`;
}

/** `logFile` is null if the log goes to a terminal. */
type RunMode = "foreground" | { readonly logFile: string | null };

/** The lines to copy name the store, so that generated idempotency keys are the same in any folder. */
export function readyBanner(
  { world, printer }: Context,
  message: ReadyMessage,
  {
    mode = "foreground",
    givenSecrets: { apiKey, signingSecret, controlToken } = {},
    description: { ownSecrets = 0, activeFaults } = { activeFaults: 0 },
  }: {
    readonly mode?: RunMode;
    /** Secrets from the environment are not shown, because banners often end up in logs. */
    readonly givenSecrets?: Partial<Pick<GivenSecrets, "apiKey" | "signingSecret" | "controlToken">>;
    readonly description?: Pick<SandboxDescription, "ownSecrets" | "activeFaults">;
  } = {},
): string {
  const { style, isJobLog } = printer;
  const secretHint = message.data_dir === null ? "--json prints it" : "checkout env prints it";
  const textOf = (secret: string): string => secretText(printer, secret, secretHint);
  const isPublic = new URL(message.base_url).origin !== message.checkout_origin;
  const isForeground = mode === "foreground";
  const endText = isForeground
    ? `is ready (pid ${message.pid}). Ctrl-C stops it.`
    : `${message.already_running ? "is already running" : "runs in the background"} (pid ${message.pid}).`;
  const { sign_in_url: signInUrl, data_dir: folder } = message;
  const logFile = isForeground ? null : mode.logFile;
  const fields = fieldLines([
    ["API", message.base_url],
    ["Public", isPublic ? `${message.checkout_origin}/v1` : undefined],
    ["Portal", signInUrl === null ? undefined : secretText(printer, signInUrl, LINK_HINT)],
    ["Merchant", message.merchant_id],
    ["Store", message.store_id],
    ["API key", apiKey?.source ?? (message.api_key === null ? NOT_KEPT_TEXT : textOf(message.api_key))],
    ["Signing secret", signingSecret?.source ?? textOf(message.signing_secret)],
    ["", ownSecrets === 0 ? undefined : ownSecretsText(ownSecrets)],
    // Shown only without a folder, from which commands would read the token.
    ["Control token", folder === null ? (controlToken?.source ?? textOf(message.control_token)) : undefined],
    ["State", folder === null ? "in memory only" : shortPath(world, folder)],
    ["Faults", activeFaultsText(activeFaults)],
    ["Log", logFile === null ? undefined : shortPath(world, logFile)],
    ["Stop", isForeground ? undefined : adaptHintToTypedLine("checkout sandbox stop", world)],
  ]);
  return [
    `${style.green("●")} ${style.bold("checkout sandbox")} ${message.version} ${endText}`,
    "",
    fields,
    "",
    style.dim("  In another terminal:"),
    ...(isJobLog && folder !== null
      ? [`  eval "$(${adaptHintToTypedLine("checkout env", world)})"`]
      : exportLines(world, message, apiKey === undefined && !isJobLog)),
    `  ${adaptHintToTypedLine("checkout orders create --order-id order-1001 --price-id price_coffee", world)}`,
    "",
  ].join("\n");
}

const NOT_KEPT_TEXT = "not in credentials.json (it was shown once)";
const LINK_HINT = "checkout open --print prints a link";

function exportLines({ env }: Context["world"], message: ReadyMessage, isKeyShown: boolean): string[] {
  const variables = {
    CHECKOUT_BASE_URL: message.base_url,
    CHECKOUT_STORE_ID: message.store_id,
    CHECKOUT_API_KEY: (isKeyShown ? message.api_key : null) ?? "<your key>",
  };
  return Object.entries(variables).map(
    ([name, value]) => `  ${assignmentCommand(name, value, shellOf(env))}`,
  );
}

export function ownSecretsText(count: number): string {
  const othersText = count === 1 ? "an endpoint has its own" : `${count} have their own`;
  return `the store's; ${othersText}: checkout endpoints secret`;
}

/** The events of a copied or moved state are held until the state is adopted (decision 71). */
export function warnAboutHold({ printer }: Context, { hold }: { readonly hold: Hold | null }): void {
  if (hold !== null) printer.trace(`warning: no events are delivered: ${english(partWords(hold))}`);
}
