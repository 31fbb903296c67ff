import type { Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { resolvesWithin } from "../runtime/store-gate.ts";
import type { World } from "../../world.ts";
import type { Caller } from "./caller.ts";
import type { Tokens } from "./tokens.ts";

type ValidityContext = { readonly tokens: Pick<Tokens, "isValid">; readonly world: Pick<World, "after"> };

/** Interval at which the token of a waiting request is checked, in milliseconds. */
const CHECK_INTERVAL_MS = 1000;

/** The outcome of a waiting request, or a refusal once the request's token is revoked or has expired. */
export async function waitWhileValid<Value>(
  { tokens, world }: ValidityContext,
  caller: Caller,
  work: Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  if (caller.tokenId === null) return work;
  while (!(await resolvesWithin(world, CHECK_INTERVAL_MS, work)))
    if (!tokens.isValid(caller)) return refuseFact("token_ended", {});
  return work;
}
