import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holdFolder } from "../../src/host/folder/hold.ts";
import type { Files } from "../../src/world.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOLD = { control_token: "token", is_guest: true } as const;

function refuseRunRecord(path: string): void {
  if (path.endsWith("run.json")) throw new Error("ENOSPC: no space left on device");
}

test("a process can lock a state folder after its first attempt failed because the disk was full", async () => {
  const folder = tempFolder();
  const createNew: Files["createNew"] = (path, content) => {
    refuseRunRecord(path);
    return REAL.files.createNew(path, content);
  };
  const full = { ...REAL, files: { ...REAL.files, createNew } };
  await expect(holdFolder(full, folder, TOLD)).rejects.toThrow("ENOSPC");
  const held = await holdFolder(REAL, folder, TOLD);
  expect(held.ok).toBe(true);
});

test("a state folder is unlocked even if its run.json cannot be removed", async () => {
  const folder = tempFolder();
  const remove: Files["remove"] = (path) => {
    refuseRunRecord(path);
    REAL.files.remove(path);
  };
  const held = await holdFolder({ ...REAL, files: { ...REAL.files, remove } }, folder, TOLD);
  if (!held.ok) throw new Error(held.refusal.message);
  expect(() => held.value.release()).toThrow("ENOSPC");
  expect(await REAL.isFileLocked?.(join(folder, "run.lock"))).toBe(false);
});

test("a run.lock that cannot be locked is named in the refusal, and other commands do not mistake it for a running sandbox", async () => {
  for (const damage of [
    (path: string) => writeFileSync(path, "no database ".repeat(1000)),
    (path: string) => mkdirSync(path),
  ]) {
    const folder = tempFolder();
    const path = join(folder, "run.lock");
    damage(path);
    expect(await holdFolder(REAL, folder, TOLD)).toMatchObject({
      ok: false,
      refusal: { code: "state_file_unreadable", message: expect.stringContaining(path) as unknown },
    });
    expect([await REAL.isFileLocked?.(path), REAL.files.exists(join(folder, "run.json"))]).toEqual([
      false,
      false,
    ]);
  }
});
