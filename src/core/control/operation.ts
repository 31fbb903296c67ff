import * as z from "zod/mini";
import { lazyValue } from "../lazy.ts";
import type { ErrorCode } from "../errors.ts";
import { CONTROL_ROOT } from "./protocol.ts";
import type { MinRole } from "./rights.ts";

export type Operation<
  Request extends z.ZodMiniType = z.ZodMiniType,
  Answer extends z.ZodMiniType = z.ZodMiniType,
> = {
  readonly minRole: MinRole;
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** The body of a POST or the query of a GET; `undefined` if there is no input. */
  readonly request: Request;
  readonly answer: Answer;
  readonly isBare: boolean;
  /** The connection stays open after the answer, until the lease ends (decision 66). */
  readonly isLasting: boolean;
  /** The operation waits while its store is being erased, and an erasure waits for the operation (decision 91). */
  readonly entersStore: boolean;
  readonly refusals: readonly ErrorCode[];
  readonly part?: SandboxPart;
};

export type SandboxPart = "snapshots" | "configuration" | "portal" | "process";

/** Schemas are built on first use, because a command calls only a few operations. */
type Row<Request extends z.ZodMiniType, Answer extends z.ZodMiniType> = Pick<
  Operation,
  "summary" | "description"
> &
  Partial<Pick<Operation, "isBare" | "isLasting" | "entersStore" | "refusals" | "part">> & {
    readonly route: readonly [method: Operation["method"], path: string];
    readonly request?: () => Request;
    readonly answer: () => Answer;
  };

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
