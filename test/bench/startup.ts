import { median, type Figure } from "./figures.ts";
import { PROGRAM, sandboxArgs, type Bench, type Sandbox } from "./processes.ts";
import { rotate } from "./throughput.ts";

const RUNS = 17;
/** The first runs fill Node's compile cache and the system's page cache. */
const WARM_UP_RUNS = 2;

type Name =
  | "node -e 0"
  | "--version"
  | "sandbox status"
  | "env"
  | "orders create"
  | "complete (orders)"
  | "complete (order_ids)"
  | "exec -- true"
  | "sandbox start"
  | "sandbox start, new folder";

/** `run` starts a process and resolves with the milliseconds until its measured moment. */
type Timed = { readonly name: Name; readonly run: (round: number) => Promise<number> };

/** Times of whole processes, each compared with an empty Node process of the same run. */
export async function measureStartup(bench: Bench, sandbox: Sandbox): Promise<Figure[]> {
  const subjects = timedProcesses(bench, sandbox);
  const times = new Map<Name, number[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < WARM_UP_RUNS + RUNS; round += 1) {
    for (const { name, run } of rotate(subjects, round)) {
      const milliseconds = await run(round);
      if (round >= WARM_UP_RUNS) times.get(name)?.push(milliseconds);
    }
  }
  const time = (name: Name): number => median(times.get(name) ?? []);
  const figure = (name: Name, below: number): Figure => ({
    name: name === "node -e 0" ? name : `checkout ${name}`,
    value: time(name),
    unit: "ms",
    baseline: "node -e 0",
    ratio: time(name) / time("node -e 0"),
    target: { below },
  });
  return [
    { name: "node -e 0", value: time("node -e 0"), unit: "ms" },
    figure("--version", 1.5),
    figure("sandbox status", 3),
    figure("env", 3),
    figure("orders create", 4),
    figure("complete (orders)", 3),
    figure("complete (order_ids)", 4),
    figure("exec -- true", 8),
    figure("sandbox start", 5),
    figure("sandbox start, new folder", 5),
  ];
}

function timedProcesses(bench: Bench, sandbox: Sandbox): Timed[] {
  const existing = bench.newPath("existing");
  return [
    { name: "node -e 0", run: () => timed(() => bench.run(["-e", "0"])) },
    { name: "--version", run: () => timed(() => bench.run([PROGRAM, "--version"])) },
    {
      name: "sandbox status",
      run: () => timed(() => bench.run([PROGRAM, "sandbox", "status", "--dir", sandbox.folder])),
    },
    { name: "env", run: () => timed(() => bench.run([PROGRAM, "env", "--dir", sandbox.folder])) },
    {
      name: "orders create",
      run: (round) => timed(() => bench.run(createArgs(sandbox, `startup-${round}`))),
    },
    {
      name: "complete (orders)",
      run: () => timed(() => bench.run([PROGRAM, "complete", "--", "orders", ""])),
    },
    {
      name: "complete (order_ids)",
      run: () =>
        timed(() =>
          bench.run([PROGRAM, "complete", "--", "sandbox", "pay", "--dir", sandbox.folder, "startup-1"]),
        ),
    },
    { name: "exec -- true", run: () => timed(() => bench.run([PROGRAM, "exec", "--", "true"])) },
    { name: "sandbox start", run: () => timedStart(bench, existing) },
    { name: "sandbox start, new folder", run: () => timedStart(bench, bench.newPath("new")) },
  ];
}

function createArgs({ folder }: Sandbox, orderId: string): string[] {
  const terms = ["--amount-minor", "1999", "--currency", "EUR", "--payment-method", "alipay_plus"];
  return [PROGRAM, "orders", "create", "--dir", folder, "--order-id", orderId, ...terms];
}

/** The milliseconds from the start of a process to its ready line. */
async function timedStart(bench: Bench, folder: string): Promise<number> {
  const startedAt = performance.now();
  const server = await bench.startServer(sandboxArgs(folder));
  const milliseconds = performance.now() - startedAt;
  await server.stop();
  return milliseconds;
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}
