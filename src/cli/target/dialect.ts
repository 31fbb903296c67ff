import type { Dialect } from "../../core/shape/dialect.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "./call.ts";
import { findControlTarget } from "./control.ts";

/** The dialect of the command's store; undefined if it has none or cannot be read, or if `baseUrl` is another service. */
export async function readDialect(context: Context, baseUrl?: string): Promise<Dialect | undefined> {
  const read = async (): Promise<Dialect | undefined> => {
    const target = await findControlTarget(context);
    if (target === undefined || new URL(baseUrl ?? target.origin).origin !== target.origin) return undefined;
    return (await callAt(context, target, { name: "storeSummary", body: undefined })).dialect;
  };
  return (await catchRefusal(read())).value;
}
