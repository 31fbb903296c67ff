import { expect, test } from "vitest";
import { OPERATION_NAMES } from "../../src/core/control/operations.ts";
import { callEveryOperation } from "../support/control-calls.ts";
import { runtimeHere } from "../support/runtimes.ts";

const RUNTIME = runtimeHere();

test("every operation of the control API answers as its OpenAPI description says", async () => {
  const { host, send, ...pair } = await RUNTIME.openStores();
  const called = await callEveryOperation({
    ...pair,
    lacks: RUNTIME.lacks,
    send: ({ headers, ...call }) => send({ ...call, headers: { Host: host, ...headers } }),
  });
  expect(called).toEqual(OPERATION_NAMES);
});
