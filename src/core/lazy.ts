/** The value is made at its first use, so that a start does not wait for it. */
export function lazyValue<Value>(make: () => Value): () => Value {
  let madeValue: { readonly value: Value } | undefined;
  return () => (madeValue ??= { value: make() }).value;
}
