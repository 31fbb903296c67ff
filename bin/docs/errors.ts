import { ERROR_CODES, ERRORS, errorRow } from "../../src/core/errors.ts";
import { code, page, prose, table, wrap } from "./markdown.ts";

export function errorsPage(): string {
  return page("Error codes", [
    wrap(
      "A refusal is JSON: `{ok: false, request_id, error: {code, message}}`. If a value is wrong, the message names the field, the expected value " +
        "and the received value. `checkout explain <request_id>` says which rule refused a request, and why.".replaceAll(
          "<request_id>",
          "REQUEST_ID",
        ),
    ),
    table(["status", "code", "meaning", "what to do"], ERROR_CODES.map(rowOf)),
    wrap(
      "A client should repeat a create with the same Idempotency-Key if it gets no answer, 408, 429, a 5xx or " +
        "`idempotency_in_progress`, and in no other case. The commands of this program repeat such a create " +
        "automatically, also if the answer comes from a proxy. They end with the exit codes that `checkout --help` lists.",
    ),
  ]);
}

function rowOf(name: (typeof ERROR_CODES)[number]): readonly string[] {
  const { status, meaning } = ERRORS[name];
  return [String(status), code(name), prose(meaning), prose(errorRow(name)?.next ?? "")];
}
