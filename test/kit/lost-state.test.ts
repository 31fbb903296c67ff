import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/testing/testing.ts";
import { eventually } from "../support/eventually.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LOSSES: readonly (readonly [string, (folder: string) => void])[] = [
  ["its folder is deleted", (folder) => rmSync(folder, { recursive: true })],
  ["its folder is renamed", (folder) => renameSync(folder, `${folder}-away`)],
  ["its database is deleted", (folder) => rmSync(join(folder, "sandbox.db"))],
];

test.for(LOSSES)("a kit sandbox closes when %s, and every later call says why", async ([, lose]) => {
  const folder = join(tempFolder(), "state");
  const warnings = process.listenerCount("beforeExit");
  const sandbox = await startSandbox({ state: { folder }, port: 0 });
  onTestFinished(() => sandbox.close());
  const receiver = await sandbox.store.receiver();
  lose(folder);
  const why = join(folder, "sandbox.db");
  await eventually("the sandbox is closed", () => expect(() => sandbox.instanceId).toThrow(why));
  await expect(sandbox.store.orders.get("order-1")).rejects.toThrow(why);
  await expect(sandbox.reset()).rejects.toThrow(why);
  await expect(sandbox.fetch("/healthz")).rejects.toMatchObject({
    message: "fetch failed",
    cause: { message: expect.stringContaining(why) as string },
  });
  await expect(fetch(`${sandbox.origin}/healthz`)).rejects.toThrow("fetch failed");
  await eventually("nothing of it waits for the end of the program", () =>
    expect(process.listenerCount("beforeExit")).toBe(warnings),
  );
  await sandbox.close();
  await expect(fetch(receiver.url)).rejects.toThrow("fetch failed");
  const again = await startSandbox({ port: Number(new URL(sandbox.origin).port) });
  await again.close();
});
