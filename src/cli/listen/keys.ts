import type { Readable } from "node:stream";
import type { World } from "../../world.ts";

/** In raw mode, Ctrl-C and Ctrl-D arrive as these characters. */
const QUIT_KEYS = new Set(["q", "\u0003", "\u0004"]);

export type ListenKey = "quit" | "replay" | "details";

/** Ignores escape sequences, such as those of arrow keys. Disposing the reader restores the terminal. */
export function createKeyReader(
  world: Pick<World, "stdin">,
  onKey: (key: ListenKey) => void,
): Disposable & { readonly read: () => void } {
  const stdin = world.stdin();
  const onData = (chunk: Buffer | string): void => {
    const text = chunk.toString();
    if (text.startsWith("\u001b")) return;
    for (const character of text) {
      if (QUIT_KEYS.has(character)) onKey("quit");
      else if (character === "r") onKey("replay");
      else if (character === "d") onKey("details");
    }
  };
  return {
    read: () => {
      setRaw(stdin, true);
      stdin.on("data", onData);
    },
    [Symbol.dispose]: () => {
      if (!stdin.listeners("data").includes(onData)) return;
      stdin.off("data", onData);
      setRaw(stdin, false);
      stdin.pause();
    },
  };
}

/** In raw mode, a terminal sends single keys instead of lines; other streams have no raw mode. */
function setRaw(stdin: Readable, isRaw: boolean): void {
  if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") stdin.setRawMode(isRaw);
}
