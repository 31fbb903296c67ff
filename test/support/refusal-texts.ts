import type { FactValue } from "../../src/core/fact.ts";
import { inOrder } from "./in-order.ts";
import { refuseFact, type FactName, type FactWithoutValues } from "../../src/core/refusals.ts";

type KnownValues = Readonly<Record<string, FactValue>>;

/** The English message of a refusal; a value that is not given is its name in braces. */
export function refusalMessage(fact: FactName, known: KnownValues = {}): string {
  const values = new Proxy(known, { get: (_, name) => known[String(name)] ?? `{${String(name)}}` });
  return refuseFact(fact as FactWithoutValues, values).refusal.message;
}

/**
 * Matches a text that contains the message of a refusal, with these values and any others: a test that is not about the
 * sentence expects the fact.
 */
export function refusalText(fact: FactName, known: KnownValues = {}): RegExp {
  return inOrder(...refusalMessage(fact, known).split(/\{\w+\}/));
}
