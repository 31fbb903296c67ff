import type { LogStream } from "../../sandbox/runtime/access-log.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";

const MAX_LINES = 20;

type KeptLog = LogStream & { readonly readLines: () => readonly string[]; readonly countLines: () => number };

export function createKeptLog(): KeptLog {
  let keptLines: readonly string[] = [];
  let count = 0;
  return {
    writableNeedDrain: false,
    write: (text) => {
      const lines = text.split("\n").filter((line) => line !== "");
      count += lines.length;
      keptLines = keptLines.concat(lines).slice(-MAX_LINES);
    },
    readLines: () => keptLines,
    countLines: () => count,
  };
}

export function printLogEnd({ printer }: Context, { readLines, countLines }: KeptLog): void {
  const shownLines = readLines();
  if (shownLines.length === 0) return printer.trace("checkout exec: no v1 request reached its sandbox");
  const hiddenCount = countLines() - shownLines.length;
  const title =
    hiddenCount === 0
      ? "checkout exec: the requests and deliveries of its sandbox:"
      : `checkout exec: the last ${shownLines.length} of ${countLines()} requests and deliveries of its sandbox:`;
  printer.trace([title, ...shownLines].join("\n"));
}

export function watchRequests(world: World) {
  let wasReached = false;
  const listen: World["listen"] = (makeService, options) =>
    world.listen((port, host) => {
      const service = makeService(port, host);
      const answer: typeof service.answer = (request) => {
        wasReached = true;
        return service.answer(request);
      };
      return { ...service, answer };
    }, options);
  const forget = (): void => {
    wasReached = false;
  };
  return { world: { ...world, listen }, forget, wasReached: () => wasReached };
}

export const NO_REQUEST_NOTE =
  "checkout exec: note: no request reached its sandbox: the command may not read CHECKOUT_BASE_URL, or a tool in between drops CHECKOUT_* (turbo: list them in passThroughEnv)";
