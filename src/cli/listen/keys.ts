import type { World } from "../../world.ts";

/** What Ctrl-C and Ctrl-D send while a terminal hands over each key: no signal then. */
const QUIT = new Set(["q", "\u0003", "\u0004"]);

/** A key that means something. */
export type Key = "quit" | "replay" | "details";

/**
 * Hands over the keys that are pressed from `read` on, each at once, until the end of the block that holds it: that gives
 * the terminal back as it was. Keys that mean nothing, and those that send more than one character, are passed over.
 */
export function keysOf(
  { stdin }: Pick<World, "stdin">,
  onKey: (key: Key) => void,
): Disposable & { readonly read: () => void } {
  const hear = (chunk: Buffer | string): void => {
    const text = chunk.toString();
    if (text.startsWith("\u001b")) return;
    for (const character of text) {
      if (QUIT.has(character)) onKey("quit");
      else if (character === "r") onKey("replay");
      else if (character === "d") onKey("details");
    }
  };
  return {
    read: () => {
      setRaw(stdin, true);
      stdin.on("data", hear);
    },
    [Symbol.dispose]: () => {
      if (!stdin.listeners("data").includes(hear)) return;
      stdin.off("data", hear);
      setRaw(stdin, false);
      stdin.pause();
    },
  };
}

/** A terminal hands over lines unless it is told otherwise; what is no terminal has no such mode. */
function setRaw(stdin: World["stdin"], raw: boolean): void {
  if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") stdin.setRawMode(raw);
}
