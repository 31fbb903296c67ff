import { calibrate, isLiveAnswer, LIVE_RESULT } from "../../client/calibration/calibrate.ts";
import { MAX_RETRIEVES } from "../../client/calibration/payment.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import {
  calibrationDifferences,
  judgeCalibration,
  type CalibratedAssumption,
  type Calibration,
} from "../../core/calibration/calibration.ts";
import { dialectText } from "../../core/calibration/dialect-section.ts";
import { observedDialect } from "../../core/calibration/observed-dialect.ts";
import { PROBES } from "../../core/calibration/probes.ts";
import { toIso } from "../../core/clock.ts";
import { hasTestKeyPrefix, redactKey } from "../../core/credential.ts";
import { isLoopback } from "../../core/loopback.ts";
import { english } from "../../core/language.ts";
import { assumptionTitle } from "../../core/calibration/assumptions.ts";
import { printable } from "../../core/text.ts";
import { openPaymentReceiver, payerOptions, type PaymentReceiver, type PayerOptions } from "./payer.ts";
import { recordPath } from "./record.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { EXIT, interruptedProblem, Refused, refuseUsage } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { CALIBRATION_FILE, readCalibration } from "../../host/folder/calibration-record.ts";
import { resolvePath } from "../snapshot/place.ts";
import { abortOnStop } from "../stopping.ts";
import { targetOptions } from "../target/options.ts";
import { connectToService, retryPolicyOf } from "../target/resolve.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

type CalibrateOptions = ServiceOptions &
  PayerOptions & {
    readonly out?: string;
    readonly check?: boolean;
    readonly yes?: boolean;
    readonly writeDialect?: string;
  };

export function registerCalibrate(group: Group): void {
  register<CalibrateOptions>(group, {
    name: "calibrate",
    summary: "compare a service with the sandbox's assumptions, and record the result",
    exitCodes: {
      3: "with --check: the service differs from the record",
      4: "the service refuses the API key",
      7: "an assumption could not be observed this time, because of a 429, a 5xx or a lost answer",
    },
    examples: [
      "checkout calibrate --base-url https://test.example.com/v1",
      "checkout calibrate --base-url https://test.example.com/v1 --check --yes",
      "checkout calibrate --base-url https://test.example.com/v1 --with-payer --secret-file secret.txt",
    ],
    options: [
      valueOption("--out <file>", {
        text: "file to write the record to",
        default: `${CALIBRATION_FILE} in the project's folder`,
      }),
      switchOption(
        "--check",
        "compare the service with the record instead of writing the record; exit 3 if they differ",
      ),
      valueOption(
        "--write-dialect <file>",
        "also write the service's names as a dialect, for sandbox start --like and stores create --dialect",
      ),
      switchOption("--yes", "skip the confirmation prompt"),
      ...payerOptions(),
      // No `--retries`, because a retry would hide the service's first answer.
      ...targetOptions().filter((option) => option.name() !== "retries"),
    ],
    requires: [
      ["port", "withPayer"],
      ["allowHost", "withPayer"],
      ["secretFile", "withPayer"],
    ],
    run: runCalibrate,
  });
}

const PROBLEM_OF_END = {
  live: { exitCode: EXIT.failed, code: "live_service" },
  not_this_service: { exitCode: EXIT.failed, code: "not_this_service" },
  refused: { exitCode: EXIT.credential, code: "credential_refused" },
  unavailable: { exitCode: EXIT.unreachable, code: "not_observed" },
} as const;

async function runCalibrate(context: Context, options: CalibrateOptions): Promise<number> {
  const { world } = context;
  const path = options.out === undefined ? recordPath(context) : resolvePath(world, options.out);
  const record = options.check === true ? readRecord(context, path) : undefined;
  refuseOwnSandbox(context);
  // Refuses a plain-http address before any message says that the key is sent there.
  refusePlainHttp(context.around.address()?.value);
  const { target, settings } = await connectToService(context);
  refusePlainHttp(target.baseUrl);
  requireTestKey(target);
  const runId = world.freshId().slice(-12);
  const dialectPath = options.writeDialect && resolvePath(world, options.writeDialect);
  if (record === undefined) requireWritable(context, path, runId);
  if (dialectPath !== undefined) requireWritable(context, dialectPath, runId);
  using stop = abortOnStop(world);
  await using payer =
    options.withPayer === true ? await openPaymentReceiver(context, options, runId) : undefined;
  await confirmSending(context, target, { isConfirmed: options.yes === true, payer });
  const probeOptions = { timeoutMs: retryPolicyOf(settings).timeoutMs, signal: stop.signal };
  const result = await calibrate(world, target, { runId, ...probeOptions });
  const payment =
    result.end === "done" ? await payer?.observe(target, result.answers, probeOptions) : undefined;
  const finalResult = isLiveAnswer(payment?.retrieval) ? LIVE_RESULT : result;
  if (stop.signal.aborted) throw new Refused(interruptedProblem("; nothing was recorded"));
  if (finalResult.end !== "done")
    throw new Refused({
      ...PROBLEM_OF_END[finalResult.end],
      message: `${target.baseUrl}: ${finalResult.message}`,
      next:
        finalResult.end === "unavailable"
          ? "repeat the command later"
          : "check --base-url and the API key with checkout whoami",
    });
  const secrets = [target.apiKey, ...(payment?.secrets ?? [])];
  const assumptions = [...judgeCalibration({ name: runId, secrets }, finalResult, payment)];
  const calibration = { service: target.baseUrl, at: toIso(world.now()), assumptions };
  if (dialectPath !== undefined) {
    const { dialect, unobservedNames } = observedDialect(finalResult.answers, payment);
    world.files.write(dialectPath, dialectText(dialect));
    context.printer.info(
      `${printable(dialectPath)}: the dialect has the sandbox's names for ${unobservedNames.join(", ")}`,
    );
  }
  if (record !== undefined)
    return compare(context, { record, calibration, hasPayment: payment !== undefined });
  world.files.write(path, `${JSON.stringify(calibration, null, 2)}\n`);
  await context.printer.result(
    output("calibration", calibration),
    () => `${reportText(calibration.assumptions)}\n\nrecorded in ${printable(path)}`,
  );
  return finalResult.missReasons.size > 0 ? EXIT.unreachable : EXIT.done;
}

/** Writes a file of a record's maximum size, so that a full disk is noticed before any request. */
function requireWritable({ world }: Context, path: string, runId: string): void {
  const kind = world.files.stat(path)?.kind;
  if (kind !== undefined && kind !== "file")
    throw refuseUsage(`${path} is not a regular file`, "name another file; nothing was sent");
  // With the run id, the file cannot have the name of a file of the user.
  const trialPath = `${path}.${runId}`;
  world.files.createNew(trialPath, " ".repeat(MAX_RECORD_BYTES));
  world.files.remove(trialPath);
}

const MAX_RECORD_BYTES = 128 * 1024;

async function compare(
  { printer }: Context,
  results: { readonly record: Calibration; readonly calibration: Calibration; readonly hasPayment: boolean },
): Promise<number> {
  const { record, calibration } = results;
  const { differences, gaps } = calibrationDifferences(results);
  const reportOf = (decisions: readonly number[]): string =>
    reportText(calibration.assumptions.filter(({ decision }) => decisions.includes(decision)));
  const shownResult = { ...calibration, differences, not_observed: gaps };
  await printer.result(output("calibration", shownResult), () =>
    [
      ...(differences.length > 0
        ? [`differs from the record of ${record.at}:\n${reportOf(differences)}`]
        : []),
      ...(gaps.length > 0 ? [`could not be compared this time:\n${reportOf(gaps)}`] : []),
      ...(differences.length + gaps.length === 0 ? [`✓ matches the record of ${record.at}`] : []),
    ].join("\n"),
  );
  if (differences.length > 0) return EXIT.notReady;
  return gaps.length > 0 ? EXIT.unreachable : EXIT.done;
}

/** Without an address, calibrate would compare the sandbox with itself. */
function refuseOwnSandbox({ around }: Context): void {
  if (around.options.target !== undefined || around.address() !== undefined) return;
  throw refuseUsage(
    "calibrate compares another service with the sandbox, and no service is named",
    "add --base-url with the address of the service; nothing was sent",
  );
}

function refusePlainHttp(baseUrl: string | undefined): void {
  if (baseUrl === undefined) return;
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "https:" && !isLoopback(hostname))
    throw refuseUsage(
      `calibrate sends the API key only over https; got ${baseUrl}`,
      "use the https address; nothing was sent",
    );
}

function requireTestKey({ apiKey }: ServiceTarget): void {
  if (!hasTestKeyPrefix(apiKey))
    throw refuseUsage(
      `calibrate needs a test key (svc_test_…); got ${redactKey(apiKey)}`,
      "set CHECKOUT_API_KEY to a test key; nothing was sent",
    );
}

async function confirmSending(
  { world, printer }: Context,
  { baseUrl }: ServiceTarget,
  { isConfirmed, payer }: { readonly isConfirmed: boolean; readonly payer: PaymentReceiver | undefined },
): Promise<void> {
  if (isConfirmed) return;
  const paymentText = payer === undefined ? "nothing is paid" : "you pay the order";
  printer.info(
    `${PROBES.length} requests go to ${baseUrl}; an order and a checkout session are created, and ${paymentText}:`,
  );
  printer.info(
    PROBES.map(({ summary }, index) => `  ${String(index + 1).padStart(2)} ${summary}`).join("\n"),
  );
  if (payer !== undefined)
    printer.info(
      `then the order is retrieved, at most ${MAX_RETRIEVES} times, while you pay it;\n${payer.instructions}`,
    );
  if (!world.isInteractive())
    throw refuseUsage(`${PROBES.length} requests would go to ${baseUrl}`, "add --yes; nothing was sent");
  await confirm(world, "Send them?", "; nothing was sent");
}

function readRecord({ world }: Context, path: string): Calibration {
  const record = readCalibration(world, path);
  if (record !== undefined) return record;
  throw refuseUsage(
    !world.files.exists(path) ? `there is no record ${path}` : `${path} is not a calibration record`,
    "create a record with checkout calibrate without --check, or name one with --out; nothing was sent",
  );
}

function reportText(assumptions: readonly CalibratedAssumption[]): string {
  const filterByVerdict = (verdict: CalibratedAssumption["verdict"]): readonly CalibratedAssumption[] =>
    assumptions.filter((row) => row.verdict === verdict);
  return [
    ...filterByVerdict("contradicted").map(
      (row) => `✗ ${titleLine(row)}: expected ${row.expected}; got ${answerText(row.answer)}`,
    ),
    ...filterByVerdict("confirmed").map((row) => `✓ ${titleLine(row)}`),
    ...filterByVerdict("not_observed").map((row) => `? ${titleLine(row)}: not observed (${row.expected})`),
  ].join("\n");
}

function titleLine({ decision }: CalibratedAssumption): string {
  return `${String(decision).padStart(2)} ${english(assumptionTitle(decision))}`;
}

function answerText(answer: CalibratedAssumption["answer"]): string {
  if (answer === null) return "nothing";
  const { status, headers, body } = answer;
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return printable([status, ...headerLines, JSON.stringify(body)].join(", "));
}
