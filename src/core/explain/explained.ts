export const EXPLAINABLE_KINDS = ["request", "checkout", "order", "event", "delivery"] as const;
export type ExplainableKind = (typeof EXPLAINABLE_KINDS)[number];
