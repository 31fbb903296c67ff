import { afterAll } from "vitest";

/**
 * A value for the tests of one file: the default, or a replacement until the file ends, because its worker may run
 * other files next.
 */
export function perFile<Value>(usual: Value) {
  let value = usual;
  return {
    now: (): Value => value,
    replace: (other: Value): void => {
      value = other;
      afterAll(() => void (value = usual));
    },
  };
}
