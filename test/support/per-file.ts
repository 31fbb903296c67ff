import { afterAll } from "vitest";

/**
 * A value of the tests that a file loads: the default, or another value until the file ends, also if its worker runs
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
