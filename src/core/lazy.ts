/** Builds the value on first use, so that it does not delay the start. */
export function lazyValue<Value>(make: () => Value): () => Value {
  let madeValue: { readonly value: Value } | undefined;
  return () => (madeValue ??= { value: make() }).value;
}
