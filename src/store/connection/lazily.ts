/** A value that is made when it is first asked for: statements that are seldom needed must not hold up a start. */
export function lazily<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}
