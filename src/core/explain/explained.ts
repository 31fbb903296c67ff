/** Kinds of things that can be explained. */
export const EXPLAINED = ["request", "checkout", "order", "event", "delivery"] as const;
export type ExplainedKind = (typeof EXPLAINED)[number];
