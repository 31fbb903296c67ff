import { toIso } from "../../core/clock.ts";
import { jsonLine } from "../../core/text.ts";
import { toStorageError } from "../../store/connection/group-commit.ts";
import { StorageUnavailable } from "../../store/connection/storage-failure.ts";
import type { World } from "../../world.ts";
import type { LogFormat, LogStream } from "./access-log.ts";
import { isError } from "../../core/outcome.ts";
import { SecretUnreadable } from "../webhook/signing-secret.ts";

const COUNT_INTERVAL_MS = 10_000;

type Failure = {
  readonly kind: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string | undefined;
};

type Streak = { readonly id: string; readonly failure: Failure; since: number; count: number };

export function createFailureLog(
  world: Pick<World, "now" | "after">,
  options: { readonly format: LogFormat; readonly stream: LogStream },
) {
  const { stream } = options;
  const formatter = options.format === "json" ? JSON_FORMATTER : TEXT_FORMATTER;
  const streaks = new Map<string, Streak>();

  const writeCount = (streak: Streak): void => {
    const now = world.now();
    if (streak.count > 0) stream.write(formatter.count(now, streak));
    Object.assign(streak, { since: now, count: 0 });
  };
  const watch = (streak: Streak): void =>
    world.after(COUNT_INTERVAL_MS, () => {
      const { kind } = streak.failure;
      if (streaks.get(kind) !== streak) return;
      if (streak.count === 0) {
        streaks.delete(kind);
        return;
      }
      writeCount(streak);
      watch(streak);
    });

  return {
    /** `id`: the request's id, or the name of the work that failed. */
    report: (id: string, error: unknown): void => {
      const failure = failureOf(error);
      const knownStreak = streaks.get(failure.kind);
      if (knownStreak !== undefined) {
        knownStreak.count += 1;
        return;
      }
      const streak = { id, failure, since: world.now(), count: 0 };
      streaks.set(failure.kind, streak);
      stream.write(formatter.first(streak));
      watch(streak);
    },
    flush: (): void => {
      for (const streak of streaks.values()) writeCount(streak);
      streaks.clear();
    },
  };
}

function failureOf(error: unknown): Failure {
  const knownError = toStorageError(error);
  if (knownError instanceof StorageUnavailable) {
    const { code } = knownError.failure;
    return { kind: code, code, message: knownError.message, stack: undefined };
  }
  if (error instanceof SecretUnreadable) {
    const { message, refusal } = error;
    return { kind: message, code: refusal.code, message, stack: undefined };
  }
  const code = "internal_error";
  if (!isError(error)) {
    const message = String(error);
    return { kind: message, code, message, stack: undefined };
  }
  const { message, stack = message } = error;
  const stackLines = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return { kind: [code, ...stackLines].join("\n"), code, message, stack };
}

type LineFormatter = {
  readonly first: (streak: Streak) => string;
  readonly count: (now: number, streak: Streak) => string;
};

const TEXT_FORMATTER: LineFormatter = {
  first: ({ id, failure, since }) => `${clockTime(since)}  ${id}  ${failure.stack ?? failure.message}\n`,
  count: (now, { id, failure, since, count }) =>
    `${clockTime(now)}  ${count} more failed since ${clockTime(since)}, as ${id} did: ${oneLine(failure.message)}\n`,
};

const JSON_FORMATTER: LineFormatter = {
  first: ({ id, failure: { code, message, stack }, since }) =>
    `${jsonLine({ time: toIso(since), failure: code, request_id: id, message, stack })}\n`,
  count: (now, { id, failure: { code, message }, since, count }) =>
    `${jsonLine({ time: toIso(now), failure: code, failed_more: count, since: toIso(since), first_request_id: id, message })}\n`,
};

function clockTime(milliseconds: number): string {
  return toIso(milliseconds).slice(11);
}

function oneLine(message: string): string {
  return message.split("\n", 1)[0] ?? "";
}
