import { afterAll } from "vitest";

/** A value of the tests that a file loads: the usual one, or another until the file ends, whatever its worker runs next. */
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
