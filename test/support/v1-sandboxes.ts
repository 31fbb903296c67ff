import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startSandbox } from "../../src/testing/testing.ts";
import { createHarness, type RunningSandbox } from "./harness.ts";
import { perFile } from "./per-file.ts";
import { tempFolder } from "./temp-folder.ts";

/** A sandbox for the tests of v1, with a clock that only they move. */
export type V1Sandbox = Pick<RunningSandbox, "request"> & {
  readonly storeId: string;
  /** The path of the sandbox's database. */
  readonly database: string;
  readonly advance: (milliseconds: number) => Promise<void>;
};

const START_OF_TIME = "2026-01-15T12:00:00Z";
/** The factor by which another runtime runs fewer rounds than `sandbox start`. */
const FEWER = 4;
const start = perFile(startCommand);

/** Lets the v1 tests of the running file use the test kit's sandbox through its `fetch`. */
export function useTestKit(): void {
  start.replace(startKit);
}

/** Lets the v1 tests of the running file use another sandbox; `startOther` gets the time of the store's clock. */
export function useSandbox(startOther: (now: string) => Promise<V1Sandbox>): void {
  start.replace(() => startOther(START_OF_TIME));
}

/** The number of rounds of a test: all rounds for `sandbox start`, fewer for another runtime. */
export function shareOfV1(rounds: number): number {
  return start.now() === startCommand ? rounds : Math.ceil(rounds / FEWER);
}

/** A new sandbox, started by `sandbox start`, by the test kit, or in another way. The sandbox ends with the test. */
export function startV1(): Promise<V1Sandbox> {
  return start.now()();
}

async function startCommand(): Promise<V1Sandbox> {
  const harness = createHarness({ now: Date.parse(START_OF_TIME) });
  const sandbox = await harness.start(["--rate-limit", "off", "--quiet"]);
  return {
    request: sandbox.request,
    storeId: sandbox.ready.store_id,
    database: join(harness.cwd, ".checkout/sandbox.db"),
    advance: (milliseconds) => Promise.resolve(harness.clock.advance(milliseconds)),
  };
}

async function startKit(): Promise<V1Sandbox> {
  const folder = join(tempFolder(), ".checkout");
  const sandbox = await startSandbox({ state: { folder }, port: null, now: START_OF_TIME });
  onTestFinished(() => sandbox.close());
  const { store, origin } = sandbox;
  return {
    request: async ({ method, path, headers = {}, body }) => {
      const answer = await sandbox.fetch(origin + path, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: {
          Authorization: `Bearer ${store.apiKey}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: String(body) }),
      });
      const named = [...answer.headers].map(([name, value]) => [titleCase(name), value] as const);
      return { status: answer.status, headers: Object.fromEntries(named), body: await answer.text() };
    },
    storeId: store.id,
    database: join(folder, "sandbox.db"),
    advance: async (milliseconds) => void (await store.clock.advance(milliseconds)),
  };
}

/** The service's spelling of a header name, which Fetch's headers do not keep: `X-Request-Id`. */
function titleCase(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
