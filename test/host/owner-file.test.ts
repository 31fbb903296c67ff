import { expect, test } from "vitest";
import { claimFile, removeTakeovers, type Claim } from "../../src/host/folder/owner-file.ts";
import type { World } from "../../src/world.ts";

const PATH = "/folder/run.json";
const DEAD = 900;
const MAX_CALLS = 40;

class Killed extends Error {}

/** A folder in memory, and processes that claim its file. `alive`: the running processes. */
function createScene(content: string | undefined) {
  const folder = new Map<string, string>(content === undefined ? [] : [[PATH, content]]);
  const alive = new Set<number>([1, 2, 3]);
  const plain = {
    read: (path: string) => folder.get(path),
    write: (path: string, text: string | Uint8Array) => void folder.set(path, String(text)),
    remove: (path: string) => void folder.delete(path),
    createNew: (path: string, text: string | Uint8Array) => {
      if (folder.has(path)) return false;
      folder.set(path, String(text));
      return true;
    },
    list: () => [...folder.keys()].map((path) => path.slice("/folder/".length)),
  };
  /** The world of one process; `before` runs before each call of the file system, with its number. */
  const worldOf = (
    before: (call: number) => void = () => undefined,
  ): Pick<World, "files" | "processStartTime"> => {
    let calls = 0;
    const files = Object.fromEntries(
      Object.entries(plain).map(([name, act]) => [
        name,
        (...args: never[]) => {
          before((calls += 1));
          return (act as (...values: never[]) => unknown)(...args);
        },
      ]),
    );
    return {
      files: files as unknown as World["files"],
      processStartTime: (pid) => (alive.has(pid) ? `start of ${pid}` : undefined),
    };
  };
  const claim = (pid: number, before?: (call: number) => void): Claim =>
    claimFile(worldOf(before), PATH, { pid, started: `start of ${pid}`, text: runOf(pid) });
  return { folder, alive, claim, worldOf };
}

function runOf(pid: number): string {
  return JSON.stringify({ pid, started: `start of ${pid}`, port: null, control_token: `token ${pid}` });
}

const STARTS: readonly (readonly [name: string, content: string | undefined])[] = [
  ["no file", undefined],
  ["the file of a process that was killed", runOf(DEAD)],
  ["a file that a crash left empty", ""],
  ["a file that a crash has torn", runOf(DEAD).slice(0, 30)],
];

test.for(STARTS)("exactly one process owns the file, whoever interferes: %s", ([, content]) => {
  let interleavings = 0;
  for (let second = 1; second <= MAX_CALLS; second += 1) {
    for (let third = 1; third <= MAX_CALLS; third += 1) {
      const scene = createScene(content);
      const claims = new Map<number, Claim>();
      claims.set(
        1,
        scene.claim(1, (call) => {
          if (call !== second || claims.has(2)) return;
          claims.set(2, { pid: 0, started: "" });
          claims.set(
            2,
            scene.claim(2, (inner) => {
              if (inner === third && !claims.has(3)) claims.set(3, scene.claim(3));
            }),
          );
        }),
      );
      interleavings += claims.size;
      const owners = [...claims].filter(([, claim]) => claim === "own").map(([pid]) => pid);
      expect([second, third, owners.length]).toEqual([second, third, 1]);
      expect(scene.folder.get(PATH)).toBe(runOf(owners[0] ?? 0));
    }
  }
  expect(interleavings).toBeGreaterThan(MAX_CALLS * MAX_CALLS);
});

test.for(STARTS)(
  "the next claim takes the file after a kill, and leaves nothing behind: %s",
  ([, content]) => {
    let killed = 0;
    for (let at = 1; at <= MAX_CALLS; at += 1) {
      const scene = createScene(content);
      try {
        scene.claim(1, (call) => {
          if (call === at) throw new Killed();
        });
      } catch (error) {
        expect(error).toBeInstanceOf(Killed);
        killed += 1;
      }
      scene.alive.delete(1);
      expect([at, scene.claim(2)]).toEqual([at, "own"]);
      removeTakeovers(scene.worldOf(), PATH, "1:2");
      expect([at, ...scene.folder]).toEqual([at, [PATH, runOf(2)]]);
    }
    expect(killed).toBeGreaterThan(0);
  },
);

test("the file of a running process is left alone, also if another version wrote it", () => {
  const running = createScene(runOf(3));
  expect(running.claim(1)).toEqual({ pid: 3, started: "start of 3", port: null, control_token: "token 3" });
  expect([...running.folder]).toEqual([[PATH, runOf(3)]]);
  const newer = JSON.stringify({ pid: 3, started: "start of 3", ports: [1, 2], tokens: {} });
  const other = createScene(newer);
  expect(other.claim(1)).toEqual({ pid: 3, started: "start of 3" });
  expect([...other.folder]).toEqual([[PATH, newer]]);
});

test("a torn file without a process id, and the file of an ended process of another version, are taken over", () => {
  const whole = runOf(DEAD);
  const torn = Array.from({ length: whole.length }, (_, length) => whole.slice(0, length));
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
    expect([content, scene.claim(1)]).toEqual([content, "own"]);
    expect([...scene.folder]).toEqual([[PATH, runOf(1)]]);
  }
});
