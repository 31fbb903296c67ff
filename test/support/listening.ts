import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import type { CommandOptions, Harness, RunningCommand } from "./harness.ts";

/** A line of `listen --json`, with the fields that tests read. */
export type ListenLine = {
  readonly event: "ready" | "delivery" | "disconnected" | "reconnected" | "disabled";
  readonly url: string;
  readonly sandbox: string | null;
  readonly endpoint_id: string | null;
  readonly replayed: number;
  readonly event_id: string;
  readonly type: string | null;
  readonly order_id: string | null;
  readonly verified: boolean;
  readonly outcome: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly causes: readonly { readonly code: string; readonly message: string; readonly proven: boolean }[];
  readonly injected_fault: { readonly id: string; readonly action: string } | null;
  readonly replay: boolean;
  readonly target: string | null;
  readonly target_status: number | null;
  readonly answered: number;
  readonly next_try_at: string | null;
};

export type ListenCommand = RunningCommand & {
  readonly ready: ListenLine;
  readonly lines: () => readonly ListenLine[];
  readonly deliveries: () => readonly ListenLine[];
  /** The deliveries, once there are `count`. */
  readonly heard: (count: number) => Promise<readonly ListenLine[]>;
  /** The lines about the sandbox, once there are `count`. */
  readonly said: (count: number) => Promise<readonly string[]>;
};

/** Starts `checkout listen --json` and waits until it is ready. */
export async function startListening(
  harness: Harness,
  args: readonly string[],
  command: CommandOptions = {},
): Promise<ListenCommand> {
  const running = await harness.launch(["listen", "--json", ...args], command);
  const lines = (): readonly ListenLine[] =>
    running
      .text()
      .stdout.split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as ListenLine);
  const deliveries = (): readonly ListenLine[] => lines().filter(({ event }) => event === "delivery");
  const told = (): readonly string[] =>
    lines().flatMap(({ event }) => (event === "ready" || event === "delivery" ? [] : [event]));
  const [ready] = lines();
  if (ready === undefined) throw new Error("it did not say that it is ready");
  return {
    ...running,
    ready,
    lines,
    deliveries,
    heard: async (count) => {
      const found = await atLeast(`${count} deliveries are told`, count, deliveries);
      expect(found).toHaveLength(count);
      return found;
    },
    said: async (count) => {
      const found = await atLeast(`${count} things are said of the sandbox`, count, told);
      expect(found).toHaveLength(count);
      return found;
    },
  };
}

/**
 * Returns as soon as there are at least `count` entries: an excess then fails the test at once, without further
 * waiting.
 */
function atLeast<One>(what: string, count: number, list: () => readonly One[]): Promise<readonly One[]> {
  return eventually(what, () => {
    const found = list();
    if (found.length < count) throw new Error(`${found.length}: ${JSON.stringify(found)}`);
    return found;
  });
}
