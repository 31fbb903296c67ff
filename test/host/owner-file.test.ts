import { expect, test } from "vitest";
import { claimFile } from "../../src/host/folder/owner-file.ts";
import type { World } from "../../src/world.ts";

const PATH = "/folder/run.json";
const DEAD = 900;

/** A folder in memory with the content of its file, and the processes 1 to 3, which claim it. */
function createScene(content: string) {
  const folder = new Map<string, string>([[PATH, content]]);
  const files = {
    read: (path: string) => folder.get(path),
    write: (path: string, text: string) => void folder.set(path, text),
    createNew: (path: string, text: string) => !folder.has(path) && folder.set(path, text).has(path),
  };
  const world = {
    files: files as unknown as World["files"],
    processStartTime: (pid: number) => (pid <= 3 ? `start of ${pid}` : undefined),
  };
  const claim = (pid: number) => claimFile(world, PATH, { folder: "1:2", text: runOf(pid) });
  return { folder, claim };
}

function runOf(pid: number): string {
  return JSON.stringify({ pid, started: `start of ${pid}`, port: null, control_token: `token ${pid}` });
}

test("the run.json of a running process is not taken over, even if another version wrote the file", () => {
  const running = createScene(runOf(3));
  expect(running.claim(1)).toEqual({ pid: 3, started: "start of 3", port: null, control_token: "token 3" });
  expect([...running.folder]).toEqual([[PATH, runOf(3)]]);
  const newer = JSON.stringify({ pid: 3, started: "start of 3", ports: [1, 2], tokens: {} });
  const other = createScene(newer);
  expect(other.claim(1)).toEqual({ pid: 3, started: "start of 3" });
  expect([...other.folder]).toEqual([[PATH, newer]]);
});

test("a truncated run.json, a run.json without a running owner, and a run.json of an ended process of another version are taken over", () => {
  const whole = runOf(DEAD);
  const torn = Array.from({ length: whole.length + 1 }, (_, length) => whole.slice(0, length));
  const newer = JSON.stringify({ pid: DEAD, started: "start of 900", ports: [1, 2] });
  const others = [
    "a note",
    "{}",
    "null",
    "[1]",
    '{"pid":3}',
    '{"started":"start of 3"}',
    "\u0000\u0000",
    newer,
  ];
  for (const content of [...torn, ...others]) {
    const scene = createScene(content);
    expect([content, scene.claim(1)]).toEqual([content, undefined]);
    expect([...scene.folder]).toEqual([[PATH, runOf(1)]]);
  }
});
