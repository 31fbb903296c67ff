import type { Language } from "../../../../core/language.ts";
import { textInLanguage } from "../../../../web/language.ts";
import { LIVE_TEXTS } from "./texts.ts";
import type { Follower, PageMessage } from "./topic.ts";

/**
 * Pause before a page reconnects, in milliseconds: after a lost connection, and when other pages of its browser replace
 * it.
 */
const RETRY_MS = 250;
const CROWDED_RETRY_MS = 10_000;

/** The name of the last message of a stream, after which its page requests no other stream. */
export const END_EVENT = "end";

/**
 * A stream of server-sent events. Each message is sent when the reader has read the earlier ones; unread messages are
 * merged. When reading begins, `begin` is called with the functions that take messages; it returns a function that
 * stops the messages.
 */
export function createEventStream(
  language: Language,
  begin: (follower: Pick<Follower, "receive" | "beat">) => () => void,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const mailbox = createMailbox(language);
      const leave = begin(mailbox);
      const end = (): IteratorResult<Uint8Array> => {
        mailbox.close();
        leave();
        return { done: true, value: undefined };
      };
      return {
        next: async () => {
          const message = await mailbox.take();
          return message === undefined ? end() : { done: false, value: Buffer.from(message) };
        },
        return: async () => end(),
      };
    },
  };
}

/** Keeps unread messages: at most one message and one comment. */
function createMailbox(language: Language) {
  let waiting: (() => void) | undefined;
  let isOver = false;
  let isNew = true;
  let isQuiet = false;
  let news: PageMessage | undefined;

  const wake = (): void => {
    waiting?.();
    waiting = undefined;
  };
  const next = (): string | undefined => {
    if (isNew) {
      isNew = false;
      return greeting();
    }
    const message = news;
    [news, isQuiet] = [undefined, false];
    isOver = message !== undefined && isFinal(message);
    return message === undefined ? COMMENT : encode(language, message);
  };
  const take = async (): Promise<string | undefined> => {
    if (isOver) return undefined;
    if (isNew || isQuiet || news !== undefined) return next();
    await new Promise<void>((resolve) => (waiting = resolve));
    return take();
  };

  return {
    receive: (message: PageMessage): void => {
      news = mergeMessages(news, message);
      wake();
    },
    beat: (): void => {
      isQuiet = true;
      wake();
    },
    /** The next message, when there is one; undefined after the last. */
    take,
    close: (): void => {
      isOver = true;
      wake();
    },
  };
}

const COMMENT = ": still there\n\n";

function greeting(): string {
  return `retry: ${RETRY_MS}\nevent: follows\ndata: \n\n`;
}

function isFinal({ kind }: PageMessage): boolean {
  return kind !== "changed";
}

/** Merges two messages; a final message is kept. */
function mergeMessages(before: PageMessage | undefined, next: PageMessage): PageMessage {
  if (before === undefined || next.kind === "end") return next;
  if (isFinal(before)) return before;
  if (before.kind !== "changed" || next.kind !== "changed") return next;
  return { ...next, count: before.count + next.count };
}

function encode(language: Language, news: PageMessage): string {
  switch (news.kind) {
    case "changed":
      return `id: ${news.since}\nevent: changed\ndata: ${textInLanguage(language, LIVE_TEXTS.changes(news.count))}\n\n`;
    case "crowded":
      return `retry: ${CROWDED_RETRY_MS}\nevent: crowded\ndata: \n\n`;
    case "reload":
      return `event: ${END_EVENT}\ndata: reload\n\n`;
    case "end":
      return `event: ${END_EVENT}\ndata: ${news.why}\n\n`;
  }
}
