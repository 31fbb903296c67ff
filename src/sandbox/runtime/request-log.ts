import {
  cutBody,
  redactHeaders,
  orderIdIn,
  redactBody,
  type LoggedRequest,
  type RequestFilter,
} from "../../core/request/logged-request.ts";
import { REAL_CLOCK, storeNow, type StoreClock } from "../../core/clock.ts";
import type { Outcome, RefusalFact } from "../../core/outcome.ts";
import { redactStored } from "../../core/request/redaction.ts";
import { cutText, redactValues } from "../../core/text.ts";
import type { RequestFile } from "../../store/request/request-file.ts";
import type { RequestSearch, RequestSearchResult, RequestBatch } from "../../store/request/requests.ts";
import { splitTarget } from "../../web/http.ts";
import type { HttpRequest, World } from "../../world.ts";
import type { Answer, LogFields } from "../answer.ts";
import type { AccessEntry } from "./access-log.ts";
import { createWriteSignals } from "./write-signals.ts";

type Times = Pick<AccessEntry, "at" | "milliseconds"> & {
  /** Redacted by value, because tokens from the environment can have any format. */
  readonly secrets?: readonly string[];
};

type ReceivedRequest = Pick<HttpRequest, "method" | "target"> & Partial<HttpRequest>;

type UnreadRequest = { readonly request: ReceivedRequest; readonly answer: Answer; readonly times: Times };

type PendingLogEntry = { readonly owner: Owner | undefined; readonly arrivedAt: number } & (
  | { readonly facts: RowFacts }
  | UnreadRequest
);

const EMPTY_RESULT: RequestSearchResult = { hits: [], readCount: 0, nextBefore: null };

type RowFacts = Omit<LoggedRequest, "position" | "at" | "storeAt">;

export type RequestLog = ReturnType<typeof createRequestLog>;

type Owner = Pick<LogFields, "storeId"> & { readonly clock?: StoreClock | undefined };

type RequestLogOptions = {
  readonly open: () => Outcome<RequestFile, { readonly message: string; readonly remedy: string }>;
  readonly ownerOf: (request: ReceivedRequest) => Owner;
  readonly maxRequests: number;
  /** The clock of new stores. If it is frozen, times in the log (`at`) are frozen too. Default: the real clock. */
  readonly startClock?: StoreClock | undefined;
  /** Called with an error, or with a sentence for the user. */
  readonly report: (problem: unknown) => void;
};

/** A write for each request would slow creates by a tenth. */
const WRITE_DELAY_MS = 100;
const MAX_PENDING_ENTRIES = 500;
const [MAX_SEARCHED, MAX_RESULTS] = [20_000, 200];
const MAX_PATH_CODE_POINTS = 200;
const V1_PREFIX = "/v1/";

/** Opens the file at its first use; if that fails, logs nothing until a restart. */
export function createRequestLog(world: Pick<World, "after" | "sleep">, options: RequestLogOptions) {
  const signals = createWriteSignals<readonly LoggedRequest[]>(world);
  const positions = createPositions();
  const file = createLogFile(options);
  let pendingEntries: PendingLogEntry[] = [];

  const write = (): void => {
    const batch = pendingEntries;
    pendingEntries = [];
    file.leaveDeleted();
    if (batch.length === 0) return;
    file.use((requests) => {
      const batches = batchesOf(batch, options, (storeId) => positions.last(requests, storeId));
      requests.append(batches, options.maxRequests);
      for (const { storeId, requests: entries } of batches) {
        positions.note(storeId, entries.at(-1)?.position ?? 0);
        signals.notify(storeId, entries);
      }
    });
  };

  const readLog = <Value>(read: (requests: RequestFile) => Value): Value | undefined => {
    write();
    return file.use(read);
  };

  return {
    note: (request: ReceivedRequest, answer: Answer, times: Times): void => {
      if (options.maxRequests === 0 || file.isUnusable() || !request.target.startsWith(V1_PREFIX)) return;
      pendingEntries.push(createLogEntry(request, answer, times));
      if (pendingEntries.length >= MAX_PENDING_ENTRIES) write();
      else if (pendingEntries.length === 1) world.after(WRITE_DELAY_MS, write);
    },
    list: (storeId: string, filter: RequestFilter): readonly LoggedRequest[] =>
      readLog((log) => log.list(storeId, filter, hiddenUntil(log, storeId, options))) ?? [],
    search: (storeId: string, search: RequestSearch): RequestSearchResult =>
      readLog((log) => log.search(storeId, hiddenUntil(log, storeId, options), search)) ?? EMPTY_RESULT,
    find: (storeId: string, requestId: string) => readLog((log) => log.find(storeId, requestId)),
    refusedOf: (storeId: string, text: string): ReturnType<RequestFile["findRefused"]> =>
      readLog((log) =>
        log.findRefused(storeId, text, {
          after: Math.max(hiddenUntil(log, storeId, options), log.lastPosition(storeId) - MAX_SEARCHED),
          limit: MAX_RESULTS,
        }),
      ) ?? { requests: [], isWhole: true },
    failure: file.failure,
    last: (storeId: string): number =>
      readLog((log) => positions.last(log, storeId)) ?? positions.last(undefined, storeId),
    next: signals.next,
    isOver: signals.isOver,
    follow: signals.follow,
    /** Later positions continue after the deleted ones, so that cursors stay valid. */
    forget: (storeId: string): void => {
      readLog((log) => positions.forget(log, storeId));
      signals.notify(storeId);
    },
    close: (): void => {
      write();
      file.close();
    },
  };
}

function hiddenUntil(log: RequestFile, storeId: string, { maxRequests }: RequestLogOptions): number {
  return maxRequests === 0 ? 0 : log.lastPosition(storeId) - maxRequests;
}

function createLogFile({ open, maxRequests, report }: RequestLogOptions) {
  let file: RequestFile | undefined;
  let isUnusable = false;
  let failure: string | undefined;
  const openFile = (): RequestFile | undefined => {
    if (file !== undefined || isUnusable) return file;
    const result = open();
    if (result.ok) return (file = result.value);
    isUnusable = true;
    const { message, remedy } = result.refusal;
    failure = `requests are not logged: ${message}; to log them again: ${remedy}, and restart the sandbox`;
    report(failure);
    return undefined;
  };
  /** An error of the log must not fail a request or an erasure. */
  const reportErrorsOf = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      report(error);
    }
  };
  const takeFile = (): RequestFile | undefined => {
    const oldFile = file;
    file = undefined;
    return oldFile;
  };
  /** Returns true if the file was damaged or replaced; the next use opens a new one. */
  const closeAfterError = (error: unknown): boolean => {
    let isSetAside = false;
    reportErrorsOf(() => {
      isSetAside = takeFile()?.closeAfterError(error) === true;
      if (!isSetAside) report(error);
    });
    return isSetAside;
  };
  const useFile = <Value>(work: (requests: RequestFile) => Value, isNew = false): Value | undefined => {
    try {
      const requests = openFile();
      return requests && work(requests);
    } catch (error) {
      return closeAfterError(error) && !isNew ? useFile(work, true) : undefined;
    }
  };
  return {
    use: useFile,
    leaveDeleted: (): void =>
      reportErrorsOf(() => {
        if (file?.isPresent() === false) takeFile()?.close();
      }),
    isUnusable: (): boolean => isUnusable,
    failure: (): string | undefined => {
      if (maxRequests > 0) useFile(() => undefined);
      return failure;
    },
    close: (): void => {
      isUnusable = true;
      reportErrorsOf(() => takeFile()?.close());
    },
  };
}

/** Positions never decrease, even if requests are deleted or the file is replaced. */
function createPositions() {
  const highestPositions = new Map<string, number>();
  const lastPosition = (requests: RequestFile | undefined, storeId: string): number =>
    Math.max(highestPositions.get(storeId) ?? 0, requests?.lastPosition(storeId) ?? 0);
  return {
    last: lastPosition,
    note: (storeId: string, position: number): void => void highestPositions.set(storeId, position),
    forget: (requests: RequestFile, storeId: string): void => {
      highestPositions.set(storeId, lastPosition(requests, storeId));
      requests.forget(storeId);
    },
  };
}

function batchesOf(
  pendingEntries: readonly PendingLogEntry[],
  { ownerOf, startClock }: RequestLogOptions,
  positionOf: (storeId: string) => number,
): RequestBatch[] {
  const ownedEntries = pendingEntries.map((entry) => {
    const { storeId = "", clock = startClock } =
      entry.owner ?? ("request" in entry ? ownerOf(entry.request) : {});
    return { entry, storeId, clock };
  });
  return [...Map.groupBy(ownedEntries, ({ storeId }) => storeId)].map(([storeId, entries]) => {
    const lastPosition = positionOf(storeId);
    return {
      storeId,
      requests: entries.map(({ entry, clock = REAL_CLOCK }, index) => {
        const { arrivedAt } = entry;
        const storeAt = storeNow(clock, arrivedAt);
        const at = startClock === undefined || startClock.frozenAt === null ? arrivedAt : storeAt;
        const facts = "facts" in entry ? entry.facts : factsOf(entry);
        return { position: lastPosition + index + 1, at, storeAt, ...facts };
      }),
    };
  });
}

/** Successful requests skip the full redaction: only their order_id can contain a secret. */
function createLogEntry(request: ReceivedRequest, answer: Answer, times: Times): PendingLogEntry {
  const { logFields, status } = answer;
  const { storeId, clock } = logFields ?? {};
  const owner = storeId === undefined ? undefined : { storeId, clock };
  // The time of arrival, so that a timeline shows a request before the checkout that it created.
  const arrivedAt = times.at - Math.ceil(times.milliseconds);
  if (
    logFields === undefined ||
    owner === undefined ||
    logFields.refusal !== undefined ||
    !SUCCESS_STATUSES.has(status)
  )
    return { owner, arrivedAt, request, answer, times };
  const facts = {
    requestId: requestIdOf(answer),
    durationMs: times.milliseconds,
    method: request.method,
    path: splitTarget(request.target).path,
    status,
    decisions: logFields.decisions,
    fault: logFields.fault ?? null,
    code: null,
    orderId: logFields.orderId === null ? null : redactValues(logFields.orderId, times.secrets ?? []),
    byDrill: logFields.byDrill,
    refused: null,
  };
  return { owner, arrivedAt, facts };
}

const SUCCESS_STATUSES: ReadonlySet<number> = new Set([200, 201]);

function requestIdOf({ headers }: Answer): string {
  return headers["X-Request-Id"] ?? "";
}

function factsOf({ request, answer, times }: UnreadRequest): RowFacts {
  const { method, target, rawHeaders = [], body = new Uint8Array() } = request;
  const { secrets = [] } = times;
  const { orderId = null, decisions = [], refusal, fault = null, byDrill } = answer.logFields ?? {};
  const hide = (text: string): string => redactValues(text, secrets);
  const sentBody = refusal === undefined ? "" : Buffer.from(body).toString("utf8");
  const knownOrderId = orderId === null && sentBody !== "" ? orderIdIn(sentBody) : orderId;
  const redact = (text: string): string => redactStored(hide(text), knownOrderId);
  const summary = {
    requestId: requestIdOf(answer),
    durationMs: times.milliseconds,
    method,
    path: cutText(redact(splitTarget(target).path), MAX_PATH_CODE_POINTS),
    status: answer.status,
    decisions,
    fault,
    orderId: knownOrderId === null ? null : hide(knownOrderId),
    byDrill,
  };
  if (refusal === undefined) return { ...summary, code: null, refused: null };
  return {
    ...summary,
    code: refusal.code,
    refused: {
      message: redact(refusal.message),
      headers: redactHeaders(rawHeaders, redact),
      body: cutBody(redactBody(sentBody, redact)),
      met: refusal.conflictingCheckoutId,
      told: redactFact(refusal.told, redact),
    },
  };
}

function redactFact(fact: RefusalFact | undefined, redact: (text: string) => string): RefusalFact | null {
  if (fact === undefined) return null;
  const values = Object.entries(fact.values).map(
    ([name, value]) => [name, typeof value === "string" ? redact(value) : value] as const,
  );
  return { fact: fact.fact, values: Object.fromEntries(values) };
}
