/** The result of what may fail because the world is broken; undefined where it failed, and the reason does not matter. */
export function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    // The check of the same thing says why.
    return undefined;
  }
}
