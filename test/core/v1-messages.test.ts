import { expect, test } from "vitest";
import { V1_REFUSALS, type FactName } from "../../src/core/refusals.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

test("the messages of v1 stay byte for byte, because clients may compare them", async () => {
  const messages = Object.entries(V1_REFUSALS).flatMap(([code, sentences]) =>
    Object.keys(sentences).map((fact) => `${code} ${fact}: ${refusalMessage(fact as FactName)}`),
  );
  expect(messages.length).toBeGreaterThan(40);
  await expect(`${messages.join("\n")}\n`).toMatchFileSnapshot("v1-messages.golden.txt");
});
