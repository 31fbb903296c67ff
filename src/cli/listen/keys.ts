import type { Readable } from "node:stream";
import type { World } from "../../world.ts";

/** In raw mode, Ctrl-C and Ctrl-D send these characters instead of a signal. */
const QUIT_KEYS = new Set(["q", "\u0003", "\u0004"]);

export type ListenKey = "quit" | "replay" | "details";

/** Ignores keys that send an escape sequence. The end of the block restores the terminal. */
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

/** A terminal sends whole lines unless it is in raw mode; other streams have no such mode. */
function setRaw(stdin: Readable, isRaw: boolean): void {
  if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") stdin.setRawMode(isRaw);
}
