import { createHmac, timingSafeEqual } from "node:crypto";
import { bodyVariants, MAX_VARIED_BYTES, type Variant } from "./body-variants.ts";
import { parseJsonBody, fieldOf } from "./claims.ts";
import {
  keyVariants,
  parseSignatureHeader,
  signedContentVariants,
  type DigestVariant,
  type KnownSecret,
  type SelectSignedParts,
} from "./signing-variants.ts";
import { toDiagnosis, type Diagnosis, type CauseFinding } from "./causes.ts";
import { detailOf } from "./details.ts";
import {
  requiredHeaderFindings,
  ageFindings,
  bodyHints,
  formFindings,
  parseTimestampSeconds,
  secretFindings,
  formatSpan,
  timestampFindings,
} from "./findings.ts";
import { secretFormFindings } from "./pasted-secrets.ts";
import { plainSignatures } from "../../shape/dialect.ts";
import { bytesOf, headerNamesIn, headerValues, verifySignature, type VerifyInput } from "../signature.ts";

export type DiagnoseOptions = VerifyInput & {
  readonly knownSecrets?: readonly KnownSecret[];
};

const MAX_HASHED_BYTES = 64 * 1024 * 1024;
/** Hashed in each trial in addition to the body. */
const BYTES_PER_TRIAL = 512;
/** Duration of a trial apart from hashing, as the number of bytes that could be hashed in that time. */
const TRIAL_COST_BYTES = 8 * 1024;
const VARIANTS_PER_BODY = 64;
const MAX_CAUSES = 2;
/** Long enough for the first three retries of the default schedule. */
const MAX_SEARCH_SECONDS = 3600;
const PARSED_BODY_SUMMARY = "The verified body is neither bytes nor text, but a parsed value.";

/** The likeliest cause comes first. For the receiver only: a forger must not learn how close a signature came. */
export function diagnose(options: DiagnoseOptions): readonly Diagnosis[] {
  const steps = diagnoseInSteps(options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Each step yields its cost in advance, in bytes hashed, so that the caller can stop. */
export function* diagnoseInSteps(options: DiagnoseOptions): Generator<number, readonly Diagnosis[]> {
  yield ArrayBuffer.isView(options.rawBody) ? options.rawBody.length : BYTES_PER_TRIAL;
  const verdict = verifySignature(options);
  if (verdict.ok) return [];
  if (verdict.code === "secret_missing") return provenDiagnoses([{ code: "secret_missing" }]);
  const rawBody = bytesOf(options.rawBody);
  if (rawBody === undefined) return provenDiagnoses([{ code: "body_not_raw", detail: PARSED_BODY_SUMMARY }]);
  const names = headerNamesIn(options.dialect);
  const headerCauses = requiredHeaderFindings(options.headers, names);
  if (headerCauses.length > 0) return provenDiagnoses(headerCauses);
  const ageCauses = ageFindings(options, names.timestamp);
  if (verdict.code === "timestamp_too_old" || verdict.code === "timestamp_too_new")
    return provenDiagnoses(ageCauses);
  return yield* searchCauses(options, { rawBody, ageCauses });
}

function* searchCauses(
  options: DiagnoseOptions,
  { rawBody, ageCauses }: { readonly rawBody: Uint8Array; readonly ageCauses: readonly CauseFinding[] },
): Generator<number, Diagnosis[]> {
  const { timestamp, signature } = headerNamesIn(options.dialect);
  const timestampText = headerValues(options.headers, timestamp)[0] ?? "";
  const sentSignature = headerValues(options.headers, signature)[0] ?? "";
  const signatureText = plainSignatures(options.dialect, sentSignature);
  const { candidates, findings } = parseSignatureHeader(signatureText, signature);
  const secretCauses = secretFindings([options.secrets].flat());
  const visibleFindings = [...secretCauses, ...timestampFindings(timestampText, timestamp)];
  const proof = yield* prove(options, { rawBody, candidates, timestampText });
  if (proof !== undefined) {
    const hiddenFindings = proof.filter(({ code }) =>
      visibleFindings.every((finding) => finding.code !== code),
    );
    return provenDiagnoses([...visibleFindings, ...hiddenFindings, ...ageCauses]);
  }
  const secretForms = [options.secrets].flat().flatMap(secretFormFindings);
  if (secretForms.length > 0) return provenDiagnoses([...secretForms, ...findings, ...ageCauses]);
  const diagnoses = provenDiagnoses([...visibleFindings, ...findings, ...ageCauses]);
  if (secretCauses.some(({ code }) => code !== "secret_whitespace")) return diagnoses;
  return [...diagnoses, ...hintsOf(rawBody)];
}

function hintsOf(rawBody: Uint8Array): readonly Diagnosis[] {
  const provenForms = provenDiagnoses(formFindings(rawBody));
  if (provenForms.length > 0) return provenForms;
  return [...bodyHints(rawBody), { code: "unexplained" } as const].map((finding) =>
    toDiagnosis(finding, false),
  );
}

function provenDiagnoses(findings: readonly CauseFinding[]): Diagnosis[] {
  return findings.map((finding) => toDiagnosis(finding, true));
}

type Trial = {
  /** Called only for the trial that matches, because thousands do not. */
  readonly findings: () => readonly CauseFinding[];
  readonly key: string | Uint8Array;
  readonly parts: readonly (string | Uint8Array)[];
};

type SearchRequest = {
  readonly rawBody: Uint8Array;
  readonly candidates: readonly DigestVariant[];
  readonly timestampText: string;
};

function* prove(
  options: DiagnoseOptions,
  request: SearchRequest,
): Generator<number, readonly CauseFinding[] | undefined> {
  if (request.candidates.length === 0) return undefined;
  // Creating the variants of a body costs about as much as hashing them.
  if (request.rawBody.length <= MAX_VARIED_BYTES) yield request.rawBody.length * VARIANTS_PER_BODY;
  let hashedBytes = 0;
  for (const { findings, key, parts } of trials(options, request)) {
    const length = parts.reduce((sum, part) => sum + part.length, BYTES_PER_TRIAL);
    const cost = length * request.candidates.length;
    hashedBytes += cost;
    if (hashedBytes > MAX_HASHED_BYTES) return undefined;
    yield cost + TRIAL_COST_BYTES * request.candidates.length;
    const provenCandidate = request.candidates.find((candidate) => isDigestOf(candidate, key, parts));
    if (provenCandidate !== undefined) return [...provenCandidate.findings, ...findings()];
  }
  return undefined;
}

function* trials(options: DiagnoseOptions, request: SearchRequest): Generator<Trial> {
  const { rawBody, timestampText } = request;
  const [eventId] = headerValues(options.headers, headerNamesIn(options.dialect).eventId);
  const secrets = [options.secrets].flat();
  const receivedSeconds = parseTimestampSeconds(timestampText);
  const [claimedSeconds] = receivedSeconds;
  const timestamps = [timestampText, ...receivedSeconds.map(String)];
  const axes = {
    bodies: bodyVariants(rawBody),
    keys: keyVariants(secrets, options.knownSecrets ?? []),
    forms: signedContentVariants([...new Set(timestamps)], eventId),
  };
  for (let causeCount = 0; causeCount <= MAX_CAUSES; causeCount += 1) yield* combinations(axes, causeCount);
  for (const seconds of otherTimestamps(claimedSeconds, options.now, rawBody)) {
    const findings = (): CauseFinding[] => [
      { code: "other_timestamp", detail: timestampDetail(seconds, claimedSeconds) },
    ];
    for (const key of secrets) yield { findings, key, parts: [String(seconds), ".", rawBody] };
  }
}

function* combinations(
  axes: {
    readonly bodies: readonly Variant<Uint8Array>[];
    readonly keys: readonly Variant<string | Uint8Array>[];
    readonly forms: readonly Variant<SelectSignedParts>[];
  },
  causeCount: number,
): Generator<Trial> {
  for (const body of axes.bodies) {
    for (const key of axes.keys) {
      for (const form of axes.forms) {
        const count = body.findings.length + key.findings.length + form.findings.length;
        if (count !== causeCount) continue;
        const findings = (): CauseFinding[] => [...key.findings, ...form.findings, ...body.findings];
        yield { findings, key: key.value, parts: form.value(body.value) };
      }
    }
  }
}

function* otherTimestamps(
  claimedSeconds: number | undefined,
  now: number,
  rawBody: Uint8Array,
): Generator<number> {
  const knownSeconds = [claimedSeconds, Math.floor(now / 1000), creationSeconds(rawBody)].filter(
    (base) => base !== undefined,
  );
  const yieldedTimes = new Set<number>();
  for (let distance = 0; distance <= MAX_SEARCH_SECONDS; distance += 1) {
    for (const base of knownSeconds) {
      for (const seconds of [base - distance, base + distance]) {
        if (yieldedTimes.has(seconds)) continue;
        yieldedTimes.add(seconds);
        yield seconds;
      }
    }
  }
}

/** Compares in constant time, because the duration must not reveal how good a guess was. */
function isDigestOf(
  { algorithm, hex }: DigestVariant,
  key: string | Uint8Array,
  parts: readonly (string | Uint8Array)[],
): boolean {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  const digest = hmac.digest("hex").slice(0, hex.length);
  return timingSafeEqual(Buffer.from(digest), Buffer.from(hex));
}

function creationSeconds(rawBody: Uint8Array): number | undefined {
  const createdMs = Date.parse(String(fieldOf(parseJsonBody(rawBody), "created_at")));
  return Number.isNaN(createdMs) ? undefined : Math.floor(createdMs / 1000);
}

function timestampDetail(seconds: number, reference: number | undefined): CauseFinding["detail"] {
  if (reference === undefined || reference === seconds) return String(seconds);
  return detailOf(
    seconds < reference ? "earlier" : "later",
    seconds,
    formatSpan(Math.abs(seconds - reference)),
  );
}
