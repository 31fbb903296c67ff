import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import type { HttpRequest, HttpResponse, ShellResult, World } from "../../src/world.ts";
import type { differenceFrom } from "./explored.ts";
import { createHarness, type Harness } from "./harness.ts";
import { installClient, rightClient } from "./shop-clients.ts";

/** The files of a shop of one order, which outlive its processes. */
type Disk = {
  /** The amount of each booking. */
  readonly booked: number[];
  readonly known: Set<string>;
  paid: boolean;
  starts: number;
};

/** A verified webhook, and the disk and the memory of the shop's process. */
type Hook = {
  readonly id: string;
  readonly status: string;
  readonly sequence: number;
  readonly amountMinor: number;
  readonly disk: Disk;
  /** Lost when the process is killed. */
  readonly memory: Map<string, string>;
  /** A slow step: the work after it is not done if the process is killed meanwhile. */
  readonly slowStep: () => Promise<void>;
};

/** A shop that is served by a command, and can be killed. */
type KilledShop = {
  /** Returns the status of the answer; default: 200. */
  readonly onHook: (hook: Hook) => number | void | Promise<number | void>;
  /** Runs at each start; false: the shop does not start. */
  readonly onStart?: (disk: Disk) => boolean | void;
  /** Whether the shop's view of an order shows only whether the order is paid. */
  readonly showsStatus?: true;
  /** Whether the shop's view of an order also shows the signing secret. */
  readonly showsSecret?: true;
};

function bookOnce({ id, status, disk, amountMinor }: Hook): void {
  if (disk.known.has(id)) return;
  disk.known.add(id);
  if (status === "succeeded") book(disk, amountMinor);
}

function book(disk: Disk, amountMinor: number): void {
  disk.booked.push(amountMinor);
  disk.paid = true;
}

/** Shops that survive a kill at any moment, by different means. */
export const STEADY_SHOPS: Readonly<Record<string, KilledShop>> = {
  "books and stores the event id in one transaction": { onHook: bookOnce },
  "books slowly, in one transaction": {
    onHook: async (hook) => {
      await hook.slowStep();
      bookOnce(hook);
      await hook.slowStep();
    },
  },
  "books from a queue on disk, also at each start": {
    onHook: ({ id, status, disk, amountMinor }) => {
      if (disk.known.has(id)) return;
      disk.known.add(id);
      if (status === "succeeded") disk.known.add(`queued ${amountMinor}`);
      work(disk);
    },
    onStart: (disk) => work(disk),
  },
};

function work(disk: Disk): void {
  const queued = [...disk.known].find((one) => one.startsWith("queued "));
  if (queued === undefined) return;
  disk.known.delete(queued);
  book(disk, Number(queued.slice("queued ".length)));
}

/** Shops that only a kill breaks; `broken.table.ts` has the expected finding of each, under the same names. */
export const KILLED_SHOPS: Readonly<Record<string, KilledShop>> = {
  "keeps event ids only in memory": {
    onHook: ({ id, status, disk, amountMinor, memory }) => {
      if (memory.has(id)) return;
      memory.set(id, "known");
      if (status === "succeeded") book(disk, amountMinor);
    },
  },
  "books, and stores the event id later": {
    onHook: async ({ id, status, disk, amountMinor, slowStep }) => {
      if (disk.known.has(id)) return;
      if (status === "succeeded") book(disk, amountMinor);
      await slowStep();
      disk.known.add(id);
    },
  },
  "stores the event id, and books later": {
    onHook: async ({ id, status, disk, amountMinor, slowStep }) => {
      if (disk.known.has(id)) return;
      disk.known.add(id);
      await slowStep();
      if (status === "succeeded") book(disk, amountMinor);
    },
  },
  "answers, and books later": {
    onHook: (hook) => void hook.slowStep().then(() => bookOnce(hook)),
  },
  "leaves its lock behind": {
    onHook: bookOnce,
    onStart: ({ starts }) => starts === 1,
  },
  "books its journal again at each start": {
    onHook: bookOnce,
    onStart: (disk) => disk.booked.slice(0, 1).forEach((amount) => book(disk, amount)),
  },
  "keeps the amount of an order only in memory": {
    onHook: (hook) => {
      const { status, memory, amountMinor } = hook;
      if (status !== "succeeded") memory.set("amount", String(amountMinor));
      bookOnce({ ...hook, amountMinor: Number(memory.get("amount") ?? 0) });
    },
  },
  "keeps its orders only in memory": {
    onHook: (hook) => {
      if (hook.status !== "succeeded") hook.memory.set("order", "known");
      if (hook.memory.has("order")) bookOnce(hook);
    },
  },
  "keeps the last sequence only in memory": {
    onHook: ({ status, sequence, disk, memory }) => {
      if (sequence < Number(memory.get("sequence") ?? 0)) return;
      memory.set("sequence", String(sequence));
      disk.paid = status === "succeeded";
    },
    showsStatus: true,
  },
};

/** The options and the command of `checkout explore` for an installed shop. */
export const SHOP_ARGS =
  "--serve serve --receiver-path /hooks --order-view /orders/{order_id} -- client".split(" ");

/** The result of `checkout explore --json`. */
type Explored = Parameters<typeof differenceFrom>[1] & {
  readonly schedules: number;
  readonly held: number;
  readonly not_judged: readonly { readonly invariant: string }[];
  readonly table: readonly {
    readonly place: string;
    readonly held: readonly string[];
    readonly broken: readonly string[];
    readonly not_judged: readonly string[];
  }[];
};

/** Explores a shop of a table with up to `depth` faults in each schedule. Returns the exit code and the result. */
export async function exploreShop(
  shops: Readonly<Record<string, KilledShop>>,
  name: string,
  depth: number,
): Promise<readonly [number, Explored]> {
  const shop = shops[name];
  if (shop === undefined) throw new Error(`no shop ${name}`);
  const harness = createHarness();
  installShop(harness, shop);
  const line = ["explore", "--json", "--seed", "s", "--depth", String(depth), "--budget", "5m", ...SHOP_ARGS];
  const { code, stdout, stderr } = await harness.run(line);
  if (stderr !== "") throw new Error(stderr);
  return [code, JSON.parse(stdout) as Explored];
}

/** Replaces the command `serve` with a shop, and all other commands with a client that repeats its create. */
export function installShop(harness: Harness, shop: KilledShop): void {
  const clients: World["run"][] = [];
  installClient({ ...harness, setShell: (run) => void clients.push(run) }, rightClient);
  const disks = new Map<string, Disk>();
  harness.setShell(async (command) => {
    const [client] = clients;
    if (client === undefined) throw new Error("the client is installed");
    if (command.commandLine !== "serve") return client(command);
    const { env, signal } = command;
    const store = env["CHECKOUT_STORE_ID"] ?? "";
    const disk = disks.get(store) ?? newDisk();
    disks.set(store, disk);
    disk.starts += 1;
    const port = Number(env["PORT"]);
    const isTaken = harness.programOn(port) !== undefined;
    if (isTaken || shop.onStart?.(disk) === false || signal === undefined) return ENDED;
    harness.occupy(
      port,
      serviceOf(harness, shop, { diskOf: () => disk, secret: env["CHECKOUT_SIGNING_SECRET"] ?? "", signal }),
    );
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve());
    });
    harness.vacate(port);
    return { ...ENDED, ending: "aborted", exitCode: null };
  });
}

/** Serves a shop on port 3000 until the test ends, and replaces all commands with a client. */
export function openRunningShop(harness: Harness, { onHook }: KilledShop, secret: string): void {
  installClient(harness, rightClient);
  const disks = new Map<string, Disk>();
  const diskOf = (orderId: string): Disk => {
    const disk = disks.get(orderId) ?? newDisk();
    disks.set(orderId, disk);
    return disk;
  };
  const { signal } = new AbortController();
  harness.occupy(3000, serviceOf(harness, { onHook }, { diskOf, secret, signal }));
}

function newDisk(): Disk {
  return { booked: [], known: new Set(), paid: false, starts: 0 };
}

const ENDED: ShellResult = { ending: "exited", exitCode: 1, stdout: "", stderr: "cannot be served" };
/** Turns of the loop that a slow step takes: more than a kill needs. */
const SLOW_TURNS = 60;

function serviceOf(
  { clock }: Pick<Harness, "clock">,
  { onHook, showsStatus, showsSecret }: KilledShop,
  {
    diskOf,
    secret,
    signal,
  }: { readonly diskOf: (orderId: string) => Disk; readonly secret: string; readonly signal: AbortSignal },
) {
  const memory = new Map<string, string>();
  const slowStep = async (): Promise<void> => {
    for (let turn = 0; turn < SLOW_TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    // A killed process does nothing more.
    if (signal.aborted) await new Promise(() => undefined);
  };
  const killed = new Promise<undefined>((resolve) =>
    signal.addEventListener("abort", () => resolve(undefined)),
  );
  const take = async ({ body, rawHeaders }: HttpRequest): Promise<number> => {
    const now = clock.now();
    const verdict = verifyWebhook({ rawBody: body, headers: rawHeaders, secrets: secret, now });
    if (!verdict.ok) return 400;
    const { event_id: id, sequence = 0, data } = verdict.event as Partial<OrderEvent>;
    if (id === undefined || data === undefined) return 200;
    const { status, amount_minor: amountMinor, order_id: orderId } = data;
    const disk = diskOf(orderId);
    return (await onHook({ id, sequence, status, amountMinor, disk, memory, slowStep })) ?? 200;
  };
  return {
    answer: async (request: HttpRequest): Promise<HttpResponse> => {
      if (request.method === "POST") {
        const status = await Promise.race([take(request), killed]);
        return {
          status: status ?? 502,
          headers: {},
          body: "",
          ...(status === undefined && { isDropped: true }),
        };
      }
      const { paid, booked } = diskOf(request.target.split("/").at(-1) ?? "");
      const shown = showsStatus === true ? { paid } : { paid, times: booked.length, amount_minor: booked[0] };
      const settings = showsSecret === true ? { settings: { secret } } : {};
      return { status: 200, headers: {}, body: JSON.stringify({ ...shown, ...settings }) };
    },
    refuse: (): HttpResponse => ({ status: 400, headers: {}, body: "" }),
  };
}

type OrderEvent = {
  readonly event_id: string;
  readonly sequence: number;
  readonly data: { readonly order_id: string; readonly status: string; readonly amount_minor: number };
};
