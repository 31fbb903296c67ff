import type { explainOperations } from "../../core/control/explain.ts";
import { explain } from "../explain/explain.ts";
import type { Handlers } from "./handler.ts";

/** What the operation that explains does. */
export const explainHandlers = {
  explain: (context, { storeId, body }) => explain(context, storeId, body),
} satisfies Pick<Handlers, keyof typeof explainOperations>;
