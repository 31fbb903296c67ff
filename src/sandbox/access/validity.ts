import type { Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";

import type { World } from "../../world.ts";
import { limitOf, type Caller } from "./caller.ts";
import type { Tokens } from "./tokens.ts";

type ValidityContext = { readonly tokens: Pick<Tokens, "isValid">; readonly world: Pick<World, "after"> };

/** Pause between two looks at the token of a waiting request, in milliseconds. */
const LOOK_MS = 1000;

export function isStillValid({ tokens }: Pick<ValidityContext, "tokens">, caller: Caller): () => boolean {
  const limit = limitOf(caller);
  return () => limit === undefined || tokens.isValid(limit);
}

/** The outcome of a waiting request; the refusal of its token, as soon as the token was revoked or has expired. */
export function whileValid<Value>(
  context: ValidityContext,
  caller: Caller,
  running: Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  if (limitOf(caller) === undefined) return running;
  const isValid = isStillValid(context, caller);
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (): void => void (isOver = true);
    const look = (): void => {
      if (isOver) return;
      if (isValid()) context.world.after(LOOK_MS, look);
      else resolve(refuseFact("token_ended", {}));
    };
    context.world.after(LOOK_MS, look);
    running.then(resolve, reject).finally(end);
  });
}
