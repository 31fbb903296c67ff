// Older versions logged only the message of a refusal, so its parts are parsed from that text.
import type { Translator } from "../language.ts";
import type { RefusalCheck } from "./checks.ts";
import type { Explanation } from "./explanation.ts";

const MESSAGE_PATTERNS = [
  /^v1 has no (?<received>.+)$/,
  /needs (?<expected>the scope (?<scope>[\w:]+)); (?<received>the API key has: .+)$/,
  /^the body is not strict JSON: (?<received>.+)$/,
  /^"(?<field>\w+)" has the number (?<received>.+), which cannot be kept exactly; (?<expected>.+)$/,
  /^(?<received>"(?<field>.*)") is not a field of this request; (?<expected>fields: .+)$/,
  /^(?<field>\w+) already sets .+?; (?<expected>leave out .+)$/,
  /^(?<received>store \S+ is not active), so/,
  /^(?<field>\w+) (?<received>\S+) is not active for this store; (?<expected>active: .+)$/,
  /already has (?<received>the \w+ \S+ with status \w+)/,
  /checkout session or order with the id (?<received>.+)$/,
  /^(?<field>[\w-]+) (?:must|is required)\b/,
];
const RECEIVED_SEPARATOR = "; got ";

export function olderRefusalParts(
  message: string,
  check: RefusalCheck,
  say: Translator,
): Pick<Explanation, "fact" | "field" | "expected" | "received" | "next"> {
  const [text = "", advice] = message.split(/: see (?=checkout )/);
  const index = text.lastIndexOf(RECEIVED_SEPARATOR);
  const parts = new Map(
    MESSAGE_PATTERNS.toReversed().flatMap((pattern) => Object.entries(pattern.exec(text)?.groups ?? {})),
  );
  const fillNames = (line: string): string =>
    line
      .replace("<scope>", parts.get("scope") ?? "<scope>")
      .replace("<name>", parts.get("received") ?? "<name>");
  return {
    fact: null,
    field: parts.get("field") ?? check.field,
    expected:
      parts.get("expected") ??
      (check.expected ? say(check.expected) : index < 0 ? text : text.slice(0, index)),
    received: parts.get("received") ?? (index < 0 ? null : text.slice(index + RECEIVED_SEPARATOR.length)),
    next: advice === undefined ? check.next.map(fillNames) : [advice],
  };
}
