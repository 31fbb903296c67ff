import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { FirstStore } from "../../src/hosted/shared/settings.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../src/core/credential.ts";
import { markedKeyBytes, markedUuid } from "../../src/hosted/shared/marks.ts";
import { stateFile } from "../../src/host/folder/files.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { startHosted } from "../support/hosted.ts";

const MARK = 7;
const MAX_ANSWER_MS = 20_000;

function drawFirstStore(): FirstStore {
  const apiKey = formatTestKey(markedKeyBytes(MARK, randomBytes(API_KEY_RANDOM_BYTES)));
  return { id: markedUuid(MARK, 1_800_000_000_000, randomBytes(6)), apiKey };
}

test("after the loss of its index, hosted dev refuses a different first store and finds the original one", async () => {
  const [own, other] = [drawFirstStore(), drawFirstStore()];
  const service = await startHosted({ firstStore: own });
  onTestFinished(service.end);
  const create = async (): Promise<unknown> => {
    const answer = await fetch(`${service.origin}/__sandbox/stores`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.controlToken}`, "Content-Type": "application/json" },
      body: "{}",
      signal: AbortSignal.timeout(MAX_ANSWER_MS),
    });
    const { data, error } = (await answer.json()) as Readonly<Record<string, Record<string, unknown>>>;
    return [answer.status, data?.["store_id"] ?? error?.["code"], error?.["message"]];
  };
  expect(await create()).toEqual([200, own.id, undefined]);
  for (const [first, answer] of [
    [
      other,
      [409, "state_conflict", expect.stringMatching(refusalText("first_store_differs", { store: own.id }))],
    ],
    [own, [200, own.id, undefined]],
  ] as const) {
    await service.kill();
    // Without its index, the object looks as if it had never reported its store.
    rmSync(join(stateFile(service.folder, "objects"), "index"), { recursive: true });
    await service.restart(first);
    expect(await create()).toEqual(answer);
  }
});
