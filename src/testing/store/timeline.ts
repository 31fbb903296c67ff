import { iso } from "../../core/clock.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import type { Timeline } from "../types.ts";

/** A story as its user reads it. How long things took is left out: it differs from run to run. */
export function timelineFrom({ summary, entries }: AnswerOf<"explain">): Timeline {
  const told = entries.map(({ at, what, id, of, status, durationMs, text }) => {
    const untimed = durationMs === null ? text : text.replace(` in ${durationMs} ms`, "");
    return { at: new Date(at), what, id, of, status, text: untimed };
  });
  const lines = told.map(
    ({ at, of, text }) => `${iso(at.getTime())}  ${of === null ? "" : "  "}${printable(text)}`,
  );
  return { summary, entries: told, toString: () => [printable(summary), ...lines].join("\n") };
}
