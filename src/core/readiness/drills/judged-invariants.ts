import { INVARIANTS, type Invariant } from "../../explore/invariants.ts";
import type { Words } from "../../language.ts";

/** The rules by which histories are judged, each with its remedy: those of `explore`, and one about answers. */
export const JUDGED_INVARIANTS = {
  ...INVARIANTS,
  takes_events: {
    rule: ["every genuine event ends with a 2xx", "每个真实的事件最终都得到 2xx"],
    remedy: [
      "Answer 2xx to an event that is known, late or of no interest, and leave the order unchanged: an event without a 2xx is sent again and again, and delays the events after it.",
      "对已知、迟到或不关心的事件也返回 2xx，并保持订单不变：没有得到 2xx 的事件会反复推送，并阻塞后续事件。",
    ],
  },
} as const satisfies Readonly<Record<string, { readonly rule: Words; readonly remedy: Words }>>;
/** The name of such a rule. */
export type JudgedInvariant = Invariant | "takes_events";
