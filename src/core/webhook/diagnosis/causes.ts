import { detailText, type DetailFact } from "./details.ts";

const RAW_BYTES_ADVICE =
  "Verify the bytes as they arrived, before any parser, and never a body that was parsed and serialized again.";
const TWO_SIDES_ADVICE =
  "Correct the side that deviates: the receiver's framework, or the program that signed the body.";

/** The placeholders are filled with a finding's detail, which never contains a secret or a digest (decision 46). */
export const DIAGNOSIS_CAUSES = {
  secret_missing:
    "No signing secret reached the verification. Check the setting that contains it: a variable that is not set reads as empty.",
  secret_is_api_key:
    "The API key was given as the signing secret. They differ: the secret begins with whsec_ and is shown with the endpoint.",
  secret_malformed:
    "The secret used for the verification contains characters that no secret has. Copy it from its source again, as plain text.",
  secret_whitespace:
    "{detail} Trim values from files, variables and pipes: a secret contains no white space.",
  secret_quoted:
    "{detail} Remove the quotes: not every reader of .env files removes them, and a shell in a container does not.",
  secret_prefix: "{detail} The key is the whole secret as shown, including whsec_.",
  secret_decoded:
    "{detail} Use the text of the secret unchanged, including whsec_, as the key; do not decode it.",
  secret_wrapped: "{detail} Give the secret alone: whsec_ and the characters after it.",
  secret_mistyped:
    "The secret used for the verification is wrong. {detail} Copy it instead of typing it: checkout endpoints secret prints it.",
  secret_cut:
    "The secret used for the verification is not whole. {detail} Copy the whole secret: checkout endpoints secret prints it.",
  secret_placeholder:
    "The secret used for the verification is no secret. {detail} Give the secret itself: checkout endpoints secret prints it.",
  secret_not_set: "{detail} The sender's setting was not read; nobody can trust such a signature.",
  other_secret:
    "The request is signed with another known secret: {label}. Verify with that secret, or send from the endpoint to which it belongs.",
  retired_secret:
    "The request is signed with a retired secret: {label}. The sender still has the old secret, or the delivery is older than the overlap; give the sender the new secret.",

  timestamp_missing:
    "The header {name} did not arrive. A proxy or a test tool dropped it, or the service uses another name: header names are a setting.",
  timestamp_doubled:
    "The header {name} arrived more than once. Something in transit added a second one: a proxy, or a test that adds headers to recorded ones.",
  timestamp_empty: "The header {name} is empty. The sender, or a template in a test, had no value for it.",
  timestamp_milliseconds:
    "The timestamp is in milliseconds; Unix seconds (ten digits) were expected. In JavaScript that is Math.floor(Date.now() / 1000).",
  timestamp_malformed: "The timestamp is {detail}; Unix seconds (ten digits) were expected.",
  other_timestamp:
    "The signature matches this body with another timestamp, {detail}. Timestamp and signature come from two attempts of one event: every attempt has its own pair, so take both headers from the same request.",
  clock_skew:
    "The timestamp is {detail} this machine's clock. One of the two clocks is wrong, or one side takes its local time for UTC: set both by NTP.",
  stale_replay:
    "The timestamp is {detail} old. A recorded request was sent again, or a request waited in a queue before it was verified: verify on arrival, and replay through the service, which signs every attempt again.",

  signature_missing:
    "The header {name} did not arrive. A proxy or a test tool dropped it, or the service uses another name: header names are a setting.",
  signature_doubled:
    "The header {name} arrived more than once (Node and Fetch join such headers with a comma and a blank). Something in transit added a second one: a proxy, or a test that adds headers to recorded ones.",
  signature_empty:
    "The header {name} is empty. The sender had no secret, or a template in a test had no value for it.",
  signature_prefixed:
    "The signature has a prefix, as other services write it (sha256=, v1=, t=…,v1=…). The header contains only the hex digits.",
  signature_upper_case: "The signature has upper-case hex digits; lower case was expected.",
  signature_base64:
    'The signature is in base64; 64 hex digits were expected: digest("hex"), not digest("base64").',
  signature_truncated:
    "The signature has {detail} digits instead of 64: it was truncated, by a database column or when it was copied by hand.",
  signature_overlong: "The signature has {detail} digits instead of 64: something was added to it.",
  signature_whitespace:
    "The signature has white space in or around it. The header contains only hex digits; several signatures are separated by a comma and nothing else.",
  signature_too_many: "The header contains {detail} signatures; at most three are sent.",
  signature_malformed:
    "The header does not contain the expected value, one to three signatures of 64 lower-case hex digits, separated by commas: it is a placeholder, has another encoding, or is a part of another header.",
  other_algorithm: "The digest has the length of {detail}; HMAC-SHA256 was expected.",

  wrong_separator: "The request was signed with {detail} between timestamp and body; a dot was expected.",
  timestamp_not_signed:
    "Only the body was signed; the timestamp and a dot must precede it, otherwise old requests could be replayed forever.",
  event_id_signed:
    "The request was signed over event id, timestamp and body (the Standard Webhooks form); timestamp, a dot and the body were expected.",
  parts_swapped: "The body was signed before the timestamp; timestamp, a dot and the body were expected.",

  body_not_raw: `{detail} ${RAW_BYTES_ADVICE}`,
  body_empty: `The body is empty. Something read it before the verification did: a body parser, a logger, a first call of request.text(). ${RAW_BYTES_ADVICE}`,
  body_whitespace_added: `The signature matches the body without {detail}. A program added it after signing: an editor, echo, or a template. ${RAW_BYTES_ADVICE}`,
  body_whitespace_removed: `The signature matches the body with {detail}. A program removed it after signing: trim(), $(…) in a shell, or a form. ${RAW_BYTES_ADVICE}`,
  body_line_endings: `The signature matches the body with {detail}. Line endings were converted in transit: by git, an editor, or a file opened as text. ${RAW_BYTES_ADVICE}`,
  body_reserialised: `{detail} ${RAW_BYTES_ADVICE} ${TWO_SIDES_ADVICE}`,
  body_keys_reordered: `The signature matches the same JSON with its keys {detail}. A parser or a database (jsonb, a sorted map) reordered them. ${RAW_BYTES_ADVICE} ${TWO_SIDES_ADVICE}`,
  body_unicode_escaped: `The signature matches the same JSON with its characters {detail} (ensure_ascii in Python, JSON_UNESCAPED_… in PHP, HTML escapes in Go). The JSON was parsed and serialized again. ${RAW_BYTES_ADVICE} ${TWO_SIDES_ADVICE}`,
  body_charset: `The signature matches the body {detail}. UTF-8 was read or written as another encoding: read bytes, or name utf-8 wherever they become text. ${TWO_SIDES_ADVICE}`,
  body_characters_lost:
    "{detail} Characters were lost where bytes became text: read bytes, or name utf-8 wherever they become text.",
  body_bom_added: `The signature matches the body without the byte order mark that it begins with: an editor or a file written as "UTF-8 with BOM" added it. ${RAW_BYTES_ADVICE}`,
  body_bom_removed: `The signature matches the body with a byte order mark before it; request.text() and many readers drop it. ${RAW_BYTES_ADVICE}`,
  body_stringified: `The signature matches {detail}: JSON.stringify was called once too often. ${RAW_BYTES_ADVICE}`,
  body_base64:
    "The signature matches {detail}. Gateways (AWS: isBase64Encoded) pass the body on in base64: decode it before you verify it.",
  body_compressed: `{detail} A server or a proxy compressed it, or it was saved before it was decompressed. ${RAW_BYTES_ADVICE}`,
  body_utf16: `{detail} The service sends UTF-8; PowerShell's > and some editors write UTF-16: save the bytes. ${RAW_BYTES_ADVICE}`,
  body_not_utf8:
    "{detail} The service sends UTF-8: the bytes were changed in transit, or belong to another file.",
  body_printed: `{detail} It is what a program prints of the body, not the body: write its bytes. ${RAW_BYTES_ADVICE}`,
  body_form_encoded: `{detail} The service sends the JSON as the whole body: a tool such as curl -d or a form encoded it. ${RAW_BYTES_ADVICE}`,
  body_html_escaped: `{detail} A page or a template showed it: take the bytes from the request, not from a page. ${RAW_BYTES_ADVICE}`,
  body_chunked: `{detail} They belong to the transport: a program read the connection instead of the request. ${RAW_BYTES_ADVICE}`,
  body_whole_message: "{detail} The body begins after its first empty line: save only the body.",
  body_wrapped: `{detail} Verify the bytes of that field. ${RAW_BYTES_ADVICE}`,
  body_prefixed: `{detail} Save only the body. ${RAW_BYTES_ADVICE}`,
  body_cut: `{detail} Store it in a column without a limit, and raise the limit of the reader. ${RAW_BYTES_ADVICE}`,
  body_not_event: `{detail} ${RAW_BYTES_ADVICE}`,
  body_differs: `The body differs from {detail}. It was changed after it was signed. ${RAW_BYTES_ADVICE}`,
  body_is_event:
    "The body is byte for byte that of event {detail}. So the secret, the timestamp or the signature belongs to another request: take both headers from the request of this body.",
  body_left_out:
    "The request was signed with {detail} instead of the body: the body had been read before, or was an object.",

  unexplained:
    "None of the usual causes explains the signature. Either the body was changed in transit, or it was signed with an unknown secret: compare the body with the event as the service shows it, byte for byte, and the secret with the endpoint's secret.",
} as const satisfies Record<string, string>;

type CauseCode = keyof typeof DIAGNOSIS_CAUSES;

export type CauseFinding = {
  readonly code: CauseCode;
  readonly detail?: string | DetailFact | undefined;
};

export type Diagnosis = {
  readonly code: CauseCode;
  readonly message: string;
  /** Undoing the cause gives a valid signature, or the mistake is visible in the request. */
  readonly proven: boolean;
  readonly detail: string | DetailFact | null;
};

export function toDiagnosis({ code, detail }: CauseFinding, isProven: boolean): Diagnosis {
  const text = typeof detail === "object" ? detailText(detail) : (detail ?? "");
  const message = DIAGNOSIS_CAUSES[code].replace(/\{\w+\}/, () => text);
  return { code, message, proven: isProven, detail: detail ?? null };
}
