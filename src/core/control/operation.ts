import * as z from "zod/mini";
import { lazyValue } from "../lazy.ts";
import type { ErrorCode } from "../errors.ts";
import { CONTROL_ROOT } from "./protocol.ts";
import type { MinRole } from "./rights.ts";

/** One operation of the control API, as used by the router, the client and the description (decision 43). */
export type Operation<
  Request extends z.ZodMiniType = z.ZodMiniType,
  Answer extends z.ZodMiniType = z.ZodMiniType,
> = {
  readonly minRole: MinRole;
  readonly method: "GET" | "POST" | "DELETE";
  /** The path, which may contain `{store_id}` and `{id}`. */
  readonly path: string;
  readonly summary: string;
  /** The effect, the answer and the refusals, in one to four sentences, complete without the summary. */
  readonly description: string;
  /** The schema of the body of a POST or the query of a GET; `undefined` if there is no input. */
  readonly request: Request;
  readonly answer: Answer;
  /** Whether the answer has no envelope. */
  readonly isBare: boolean;
  /** Whether the connection stays open after the answer until its lease ends (decision 66). */
  readonly isLasting: boolean;
  /**
   * Whether the operation waits while its store is being erased, and an erasure waits for the operation (decision 91).
   * False for operations that erase, and for operations that only wait for something outside the store.
   */
  readonly entersStore: boolean;
  /** The operation's own refusals, in addition to the refusals of every operation. */
  readonly refusals: readonly ErrorCode[];
  /** The part of a whole sandbox that the operation is about; a service of single stores refuses it. */
  readonly part?: SandboxPart;
};

/** The parts that only a whole sandbox has: they are about a folder, a process, or all stores at once. */
export type SandboxPart = "snapshots" | "configuration" | "portal" | "process";

/**
 * The row of an operation. Its schemas are made at their first use, because a command calls few operations. Defaults:
 * no input, an envelope, no lasting connection, `entersStore`, and no refusals. Operations on a store also refuse with
 * `not_found`.
 */
type Row<Request extends z.ZodMiniType, Answer extends z.ZodMiniType> = Pick<
  Operation,
  "summary" | "description"
> &
  Partial<Pick<Operation, "isBare" | "isLasting" | "entersStore" | "refusals" | "part">> & {
    readonly route: readonly [method: Operation["method"], path: string];
    readonly request?: () => Request;
    readonly answer: () => Answer;
  };

/** An operation on one store, for this role and the roles above it; the path is relative to the store. */
export function storeOperation<
  Answer extends z.ZodMiniType,
  Request extends z.ZodMiniType = z.ZodMiniUndefined,
>(
  minRole: MinRole,
  { route: [method, path], refusals = [], ...row }: Row<Request, Answer>,
): Operation<Request, Answer> {
  return sandboxOperation(minRole, {
    ...row,
    route: [method, `/stores/{store_id}${path}`],
    refusals: ["not_found", ...refusals],
  });
}

export function sandboxOperation<
  Answer extends z.ZodMiniType,
  Request extends z.ZodMiniType = z.ZodMiniUndefined,
>(minRole: MinRole, { route: [method, path], ...row }: Row<Request, Answer>): Operation<Request, Answer> {
  // In a row without a request, `Request` is its default type.
  const request = lazyValue(row.request ?? (() => z.undefined() as z.ZodMiniType as Request));
  const answer = lazyValue(row.answer);
  return {
    isBare: false,
    isLasting: false,
    entersStore: true,
    refusals: [],
    minRole,
    ...row,
    method,
    path: `${CONTROL_ROOT}${path}`,
    get request() {
      return request();
    },
    get answer() {
      return answer();
    },
  };
}
