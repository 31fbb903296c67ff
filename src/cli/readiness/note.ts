import { MAX_NOTE_LENGTH } from "../../core/readiness/names.ts";
import { invalidOption } from "../command.ts";

/** What somebody has to say about an act, for the audit log. */
export function parseNote(text: string): string {
  if (text === "" || text.length > MAX_NOTE_LENGTH)
    throw invalidOption(`a note of 1 to ${MAX_NOTE_LENGTH} characters`, text);
  return text;
}
