export const TOPIC_SUMMARIES = {
  idempotency: "the Idempotency-Key: one key for one purchase",
  webhooks: "receive, verify and replay webhooks",
  clock: "move a store's clock",
  faults: "inject faults into the API and into deliveries",
  drills: "the drills of the launch checklist, and their results",
  ci: "CI jobs, containers and proxies",
} as const;

export type HelpTopic = keyof typeof TOPIC_SUMMARIES;

export function findTopic(name: string | undefined): HelpTopic | undefined {
  // Also accepts the singular, as in `help webhook`.
  return (Object.keys(TOPIC_SUMMARIES) as HelpTopic[]).find(
    (topic) => topic === name || topic === `${name}s`,
  );
}
