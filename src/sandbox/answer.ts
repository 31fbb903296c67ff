import type { Refusal } from "../core/outcome.ts";
import type { StorageUnavailable } from "../store/connection/group-commit.ts";
import { refusalResponse } from "../web/answer.ts";
import type { HttpResponse } from "../world.ts";

/** An answer, with its note for the log. `unlogged`: a page that polls every second. */
export type Answer = HttpResponse & { readonly note?: string; readonly unlogged?: true };

/** A refusal as an answer, with its code in the log. */
export function answerRefusal(requestId: string, refusal: Refusal): Answer {
  return { ...refusalResponse(requestId, refusal), note: refusal.code };
}

/** What a caller hears while nothing can be written: the cause, but no path of this machine. */
export function storageRefusal({ failure }: StorageUnavailable): Refusal {
  const message = `the database cannot be used right now: ${failure.sentence}; try again with the same key`;
  return { code: "storage_unavailable", message };
}
