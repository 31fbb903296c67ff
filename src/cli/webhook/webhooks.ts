import { toIso } from "../../core/clock.ts";
import type { Dialect } from "../../core/shape/dialect.ts";
import { parseJson } from "../../core/json.ts";
import { printable } from "../../core/text.ts";
import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import { diagnose } from "../../core/webhook/diagnosis/diagnose.ts";
import {
  DEFAULT_TOLERANCE_SECONDS,
  DEFAULT_HEADER_NAMES,
  headerNamesIn,
  signHeaders,
  TIMESTAMP_PATTERN,
  verifySignature,
  type VerifyInput,
} from "../../core/webhook/signature.ts";
import type { KnownSecret } from "../../core/webhook/diagnosis/signing-variants.ts";
import type { SignatureVerdict } from "../../core/webhook/webhook.ts";
import { optionParser, register, valueOption, type Context, type Group } from "../command.ts";
import { causeLine } from "./report.ts";
import { readInput } from "../input.ts";
import { catchRefusal, EXIT, unwrap } from "../problem.ts";
import { readDialectFile } from "../../host/config/dialect-file.ts";
import { readDialect } from "../target/dialect.ts";
import { compareWithNamedEvent } from "./named-event.ts";
import type { SecretsWithOwner } from "./sandbox-secrets.ts";
import {
  requireSigningSecrets,
  findSigningSecrets,
  dialectOption,
  headerNamesOption,
  refuseMissingSecret,
  secretOption,
  type SecretOptions,
} from "./signing-secrets.ts";
import { parseDurationText, durationText } from "../../core/duration.ts";
import { output } from "../output/output.ts";

type VerifyFlags = SecretOptions & {
  readonly payloadFile: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly tolerance?: number;
  readonly now?: number;
  readonly headerNames?: Pick<Dialect, "headers">;
  readonly dialect?: string;
};

type SignFlags = SecretOptions & {
  readonly payloadFile: string;
  readonly timestamp?: number;
  readonly eventId?: string;
};

export function registerWebhooks(group: Group): void {
  const payloadOption = () =>
    valueOption("--payload-file <file>", "file with the body, byte for byte, or - for standard input");
  register<VerifyFlags>(group, {
    name: "verify",
    summary: "verify the signature of a webhook, and explain why it fails; exit 0 if valid, 1 if not",
    exitCodes: { 0: "valid", 1: "not valid" },
    examples: [
      "checkout webhooks verify --payload-file body.json --timestamp 1767225600 --signature 5d41… --secret-file secret.txt",
      "printenv SECRET | checkout webhooks verify --payload-file body.json --timestamp 1767225600 --signature 5d41… --secret-file -",
    ],
    options: [
      payloadOption(),
      valueOption("--timestamp <value>", `${DEFAULT_HEADER_NAMES.timestamp} header, as received`),
      valueOption("--signature <value>", `${DEFAULT_HEADER_NAMES.signature} header, as received`),
      secretOption(),
      headerNamesOption(),
      dialectOption(),
      valueOption(
        "--tolerance <duration>",
        {
          text: "maximum difference between the timestamp and now",
          default: durationText(DEFAULT_TOLERANCE_SECONDS * 1000),
        },
        parseTolerance,
      ),
      valueOption(
        "--now <time>",
        {
          text: "verify as of this time: Unix seconds, or a time such as 2026-12-24T18:00:00Z",
          default: "now",
        },
        parseMoment,
      ),
    ],
    required: ["payloadFile", "timestamp", "signature"],
    run: runVerify,
  });
  register<SignFlags>(group, {
    name: "sign",
    usesStore: false,
    summary: "print the three headers of a signed webhook, for curl -H @FILE",
    examples: [
      "checkout webhooks sign --payload-file body.json --secret-file secret.txt > headers.txt",
      "curl http://localhost:3000/hooks -H @headers.txt -H 'Content-Type: application/json' --data-binary @body.json",
    ],
    options: [
      payloadOption(),
      valueOption(
        "--timestamp <seconds>",
        { text: "timestamp to sign, in Unix seconds", default: "now" },
        parseTimestamp,
      ),
      valueOption(
        "--event-id <id>",
        { text: "value of the header Checkout-Event-Id", default: "the event_id of the body, or a new one" },
        parseEventId,
      ),
      secretOption(),
    ],
    required: ["payloadFile"],
    run: runSign,
  });
}

async function runVerify(context: Context, options: VerifyFlags): Promise<number> {
  const { payloadFile, timestamp, signature } = options;
  const { sources, knownSources } = await collectSecrets(context, options);
  const { dialect: file } = options;
  const [firstSource] = sources;
  const isOfStore = firstSource && sourceWithOwner(firstSource, knownSources).owner !== undefined;
  const storeDialect = isOfStore === true ? await readDialect(context) : undefined;
  const sourceDialect =
    file === undefined ? storeDialect : unwrap(await readDialectFile(context.world, file));
  const dialect =
    options.headerNames === undefined ? sourceDialect : { ...sourceDialect, ...options.headerNames };
  const headerNames = headerNamesIn(dialect);
  const rawBody = await readInput(context.world, payloadFile, "--payload-file");
  const request: Omit<VerifyInput, "secrets"> = {
    rawBody,
    headers: [headerNames.timestamp, timestamp, headerNames.signature, signature],
    dialect,
    toleranceSeconds: options.tolerance ?? DEFAULT_TOLERANCE_SECONDS,
    now: options.now ?? context.world.now(),
  };
  const verdicts = sources.map((source) => {
    const verdict = verifySignature({ ...request, secrets: source.inForce });
    return { source, verdict };
  });
  // Any other failure is the same for all secrets, or proves that the secret matches, such as an old timestamp.
  const bestTrial =
    verdicts.find(({ verdict }) => verdict.ok) ??
    verdicts.find(({ verdict }) => !verdict.ok && !UNDECIDED_CODES.has(verdict.code));
  const { now } = request;
  if (bestTrial !== undefined) {
    const { source, verdict } = bestTrial;
    const causes = diagnose({ ...request, secrets: source.inForce });
    const triedSources = [sourceWithOwner(source, knownSources)];
    return report(context, { verdict, causes, now, triedSources });
  }
  const secrets = sources.flatMap(({ inForce }) => inForce);
  const verdict = verifySignature({ ...request, secrets });
  const triedSources = [...sources, ...knownSources];
  const ownCauses = diagnose({ ...request, secrets, knownSecrets: knownSecretsOf(triedSources) });
  const comparison = await compareWithNamedEvent(context, rawBody);
  const causes = comparison === undefined ? ownCauses : withComparison(ownCauses, comparison);
  return report(context, { verdict, causes, now, triedSources });
}

function knownSecretsOf(sources: readonly SecretSource[]): readonly KnownSecret[] {
  return sources.flatMap(({ owner = "the user", inForce, retired }) => [
    ...inForce.map((secret) => ({ label: owner, secret, isRetired: false })),
    ...retired.map((secret) => ({ label: `an earlier secret of ${owner}`, secret, isRetired: true })),
  ]);
}

/** With these codes, the signature may still be valid for another secret. */
const UNDECIDED_CODES: ReadonlySet<string> = new Set([
  "signature_mismatch",
  "secret_malformed",
  "secret_missing",
]);

function sourceWithOwner(source: SecretSource, sources: readonly SecretSource[]): SecretSource {
  if (source.owner !== undefined) return source;
  return sources.find(({ inForce }) => inForce.some((secret) => source.inForce.includes(secret))) ?? source;
}

function withComparison(causes: readonly Diagnosis[], comparison: Diagnosis): readonly Diagnosis[] {
  const otherCauses = causes.filter(({ code }) => code !== "unexplained");
  const isProven = otherCauses.some(({ proven }) => proven);
  if (comparison.code === "body_is_event") return isProven ? causes : [comparison, ...otherCauses];
  return isProven ? [...otherCauses, comparison] : [comparison, ...otherCauses];
}

type SecretSource = Pick<SecretsWithOwner, "inForce" | "retired"> & Partial<SecretsWithOwner>;

/** Verifies only with a secret that the user gives; the sandbox's secrets then only explain a mismatch. */
async function collectSecrets(
  context: Context,
  options: VerifyFlags,
): Promise<{ readonly sources: readonly SecretSource[]; readonly knownSources: readonly SecretSource[] }> {
  const givenSecrets = await findSigningSecrets(context, options);
  const { readSandboxSecrets } = await import("./sandbox-secrets.ts");
  if (givenSecrets === undefined) {
    const secrets = await readSandboxSecrets(context);
    if (secrets === undefined) throw refuseMissingSecret(undefined);
    return { sources: secrets, knownSources: [] };
  }
  const { value: knownSources = [] } = await catchRefusal(readSandboxSecrets(context));
  return { sources: [{ inForce: givenSecrets, retired: [] }], knownSources };
}

async function runSign(context: Context, options: SignFlags): Promise<number> {
  const { world, printer } = context;
  const { payloadFile } = options;
  const secrets = await requireSigningSecrets(context, options);
  const rawBody = await readInput(world, payloadFile, "--payload-file");
  const headers = signHeaders(secrets, {
    eventId: options.eventId ?? eventIdOf(rawBody) ?? world.uuid(),
    timestamp: options.timestamp ?? Math.floor(world.now() / 1000),
    rawBody,
  });
  return printer.result(output("signed_headers", headers), () =>
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
  );
}

type Report = {
  readonly verdict: SignatureVerdict;
  readonly causes: readonly Diagnosis[];
  readonly now: number;
  readonly triedSources: readonly SecretSource[];
};

async function report({ printer }: Context, { verdict, causes, now, triedSources }: Report): Promise<number> {
  if (verdict.ok) {
    const ageSeconds = Math.floor(now / 1000) - verdict.timestamp;
    const ageText = ageSeconds < 0 ? `${-ageSeconds} s ahead of this clock` : `${ageSeconds} s ago`;
    const [{ owner, endpointId } = { owner: undefined }] = triedSources;
    const secretFields = owner === undefined ? {} : { secret_of: owner, endpoint_id: endpointId };
    const json = { valid: true, timestamp: verdict.timestamp, age_seconds: ageSeconds, ...secretFields };
    const ownerText = owner === undefined ? "" : `, with the signing secret of ${printable(owner)}`;
    return printer.result(
      output("signature", json),
      () => `${printer.style.green("✓")} the signature is valid; it was created ${ageText}${ownerText}`,
    );
  }
  const { code, message } = verdict;
  const owners = triedSources.flatMap(({ owner }) => owner ?? []);
  const ownerFields = owners.length === 0 ? {} : { secrets_of: owners };
  await printer.result(output("signature", { valid: false, code, message, causes, ...ownerFields }), () =>
    [
      `${printer.style.red("✗")} not valid: ${message} ${printer.style.dim(`(${code})`)}`,
      ...(owners.length === 0 ? [] : [`  tried the signing secrets of ${printable(owners.join(", "))}`]),
      ...causes.map((cause) => causeLine(cause, printer.style)),
    ].join("\n"),
  );
  return EXIT.failed;
}

function eventIdOf(rawBody: Uint8Array): string | undefined {
  const body = parseJson(Buffer.from(rawBody).toString("utf8"));
  if (typeof body !== "object" || body === null || !("event_id" in body)) return undefined;
  const { event_id: id } = body;
  return typeof id === "string" && EVENT_ID_PATTERN.test(id) ? id : undefined;
}

const EVENT_ID_PATTERN = /^[\x21-\x7e]{1,128}$/;

const parseEventId = optionParser("1 to 128 visible ASCII characters without spaces", (text) =>
  EVENT_ID_PATTERN.test(text) ? text : undefined,
);

const parseTimestamp = optionParser("Unix seconds, ten digits", (text) =>
  TIMESTAMP_PATTERN.test(text) ? Number(text) : undefined,
);

const parseTolerance = optionParser("a duration in whole seconds, such as 0s, 30s or 5m", (text) => {
  const milliseconds = /^0(?:s|m|h)?$/.test(text) ? 0 : (parseDurationText(text) ?? Number.NaN);
  return milliseconds % 1000 === 0 ? milliseconds / 1000 : undefined;
});

/** Returns milliseconds. Refuses a nonexistent day. */
const parseMoment = optionParser("Unix seconds, or a time such as 2026-12-24T18:00:00Z", (text) => {
  if (TIMESTAMP_PATTERN.test(text)) return Number(text) * 1000;
  const isMoment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/.test(text);
  const moment = isMoment ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(moment) && toIso(moment).startsWith(text.slice(0, 19)) ? moment : undefined;
});
