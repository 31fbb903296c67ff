import type { FactName } from "../refusals.ts";
import type { RequestEntry } from "../request/shapes.ts";
import { hasSecretOrRedaction } from "../text.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";

/** Places that may show a secret: a request (except Authorization), an answer to a webhook, the output, the view. */
export const SECRET_PLACES = ["request", "answer", "output", "view"] as const;
export type SecretPlace = (typeof SECRET_PLACES)[number];

/** The service refuses a secret in a body or a key, and masks it in a path. */
export function isRequestWithSecret({ path, fact }: RequestEntry): boolean {
  return hasSecretOrRedaction(path) || SECRET_FACTS.has(fact);
}

const SECRET_FACTS: ReadonlySet<string | null> = new Set<FactName>([
  "key_with_secret",
  "field_with_secret",
  "field_with_token",
]);

export function isAnsweredWithSecret({ attempts }: DeliveryEntry): boolean {
  return attempts.some(({ answer }) => answer !== null && hasSecretOrRedaction(answer));
}
