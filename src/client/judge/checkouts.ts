import { factOf } from "../../core/readiness/drills/said.ts";
import { containsSecret } from "../../core/text.ts";
import type { CallOperation } from "../control/control.ts";
import { commandResult, runMerchantCommand } from "../merchant-command.ts";
import {
  NoOrder,
  type Bench,
  type CreateMethod,
  type CreateRun,
  type ListedCheckout,
  type Purchase,
} from "./bench.ts";
import { BROWSER_HEADERS, fillAddress, noAnswer, sendLocally } from "./shop/view.ts";

const COMMAND_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 16_384;
const PAGE_LIMIT = 100;
const MAX_NAMED_IDS = 20;
const UUID_PATTERN = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** `findsAll`: also finds new checkouts whose order_id has nothing to do with the purchase. */
export async function createOrders(
  bench: Bench,
  purchase: Purchase,
  {
    times = 1,
    findsAll = false,
    fields = {},
  }: {
    readonly times?: number;
    readonly findsAll?: boolean;
    readonly fields?: Readonly<Record<string, string>> | undefined;
  } = {},
): Promise<readonly CreateRun[]> {
  const { shop, recording, call, search } = bench;
  const { create } = shop;
  purchase.createCount += 1;
  if (create === undefined) {
    if (purchase.checkouts.length > 0) return [];
    const unpaidCheckout = await shop.takeOrder?.(purchase.cartId, purchase.kind);
    if (unpaidCheckout === undefined) throw new NoOrder(factOf("no_more_orders"));
    purchase.checkouts = await listOrders(call, { orderId: unpaidCheckout.orderId });
    return [{ hasEnded: true, isDone: true, got: "", text: "" }];
  }
  const { cartId } = purchase;
  const runAll = (): Promise<readonly CreateRun[]> =>
    Promise.all(Array.from({ length: times }, () => runCreate(bench, withFields(create, fields), purchase)));
  if (recording.hasSameId && (!findsAll || search !== undefined)) {
    const runs = await runAll();
    const checkouts = await listOrders(call, { orderId: cartId });
    const attempts =
      purchase.createCount === 1 && times === 1 ? [] : await listAttempts(bench, purchase, runs);
    if (await namesOtherOrder(bench, purchase, { runs, checkouts })) purchase.isShared = true;
    return addCheckouts(bench, purchase, { runs, checkouts: mergeLists(checkouts, attempts) });
  }
  if (recording.namesCheckout && !findsAll) {
    const runs = await runAll();
    return addCheckouts(bench, purchase, { runs, checkouts: await listNamed(call, runs) });
  }
  const buyAndCompare = async (): Promise<readonly CreateRun[]> => {
    const knownIds = new Set((await listOrders(call, {})).map(({ id }) => id));
    const runs = await runAll();
    const namedOrder = runs.flatMap(({ text }) => shop.orderIdOf?.exec(text)?.[1] ?? [])[0];
    const checkouts = await listOrders(call, { orderId: namedOrder });
    const oldIds = new Set(purchase.checkouts.map(({ id }) => id));
    // In a search's own store, every checkout is the shop's, even a checkout that a killed run created late.
    const areOwn = namedOrder !== undefined || search?.isOwn === true;
    const otherIds = recording.hasSameId ? otherIdsThan(cartId, bench.notes) : [];
    const newCheckouts = checkouts.filter(
      ({ id, orderId }) =>
        areOwn ||
        oldIds.has(id) ||
        !(knownIds.has(id) || otherIds.some((otherId) => orderId.includes(otherId))),
    );
    return addCheckouts(bench, purchase, { runs, checkouts: newCheckouts });
  };
  return recording.hasSameId ? buyAndCompare() : bench.runExclusive(buyAndCompare);
}

function withFields(create: CreateMethod, fields: Readonly<Record<string, string>>): CreateMethod {
  return "url" in create ? { ...create, form: { ...create.form, ...fields } } : create;
}

async function listNamed(
  call: CallOperation,
  runs: readonly CreateRun[],
): Promise<readonly ListedCheckout[]> {
  const ids = [...new Set(runs.flatMap(idsIn))].slice(0, MAX_NAMED_IDS);
  const lists = await Promise.all(ids.map((q) => listOrders(call, { q })));
  // `q` also matches descriptions, so checkouts with other ids are removed.
  return lists.flat().filter(({ id }) => ids.includes(id));
}

async function listAttempts(
  { call, search, notes }: Bench,
  purchase: Purchase,
  runs: readonly CreateRun[],
): Promise<readonly ListedCheckout[]> {
  if (search !== undefined) return [];
  const { cartId } = purchase;
  const newestAt = purchase.checkouts.at(-1)?.createdAt ?? 0;
  const otherIds = otherIdsThan(cartId, notes);
  const isAttempt = ({ id, orderId, createdAt }: ListedCheckout): boolean =>
    !notes.cartIds.has(id) && createdAt >= newestAt && !otherIds.some((otherId) => orderId.includes(otherId));
  const namedCheckouts = (await listNamed(call, runs)).filter(isAttempt);
  const similarCheckouts = (await listOrders(call, { q: cartId })).filter(
    (checkout) => checkout.orderId.includes(cartId) && isAttempt(checkout),
  );
  // An answer that also contains ids of other orders proves nothing.
  return namedCheckouts.length === 1 ? [...namedCheckouts, ...similarCheckouts] : similarCheckouts;
}

/** Omits drawn order_ids that are a part of this order_id, as the order_id of a neighbour may be. */
function otherIdsThan(cartId: string, { drawnIds }: Pick<Bench["notes"], "drawnIds">): readonly string[] {
  return [...drawnIds].filter((drawnId) => !cartId.includes(drawnId));
}

async function namesOtherOrder(
  { call, search, notes: { drawnIds } }: Bench,
  { cartId }: Purchase,
  { runs, checkouts }: { readonly runs: readonly CreateRun[]; readonly checkouts: readonly ListedCheckout[] },
): Promise<boolean> {
  if (search !== undefined || checkouts.length === 0) return false;
  const ownIds = new Set(checkouts.map(({ id }) => id));
  // An answer that also contains ids of other orders proves nothing.
  const misledRuns = runs.filter((run) => run.isDone && !idsIn(run).some((id) => ownIds.has(id)));
  for (const run of misledRuns) {
    const [named, ...others] = await listNamed(call, [run]);
    if (named !== undefined && others.length === 0 && named.orderId !== cartId && drawnIds.has(named.orderId))
      return true;
  }
  return false;
}

function addCheckouts(
  { notes: { cartIds } }: Pick<Bench, "notes">,
  purchase: Purchase,
  { runs, checkouts }: { readonly runs: readonly CreateRun[]; readonly checkouts: readonly ListedCheckout[] },
): readonly CreateRun[] {
  const { cartId } = purchase;
  const isForeign = (id: string): boolean => (cartIds.get(id) ?? cartId) !== cartId;
  purchase.checkouts = mergeLists(purchase.checkouts, checkouts);
  // An answer that also contains ids of other orders proves nothing.
  const namedIds = new Set(runs.filter(({ isDone }) => isDone).flatMap(idsIn));
  const onlyIds = namedIds.size === 1 ? [...namedIds] : [];
  const shownIds = purchase.checkouts.length > 0 ? checkouts.map(({ id }) => id) : onlyIds;
  if (shownIds.some(isForeign)) purchase.isShared = true;
  for (const { id } of checkouts) if (!isForeign(id)) cartIds.set(id, cartId);
  return runs;
}

function idsIn({ text }: CreateRun): readonly string[] {
  return text.match(UUID_PATTERN) ?? [];
}

async function listOrders(
  call: CallOperation,
  filter: { readonly orderId?: string | undefined; readonly q?: string },
): Promise<readonly ListedCheckout[]> {
  const { checkouts } = await call({ name: "listCheckouts", body: { ...filter, limit: PAGE_LIMIT } });
  return checkouts.toReversed();
}

export async function refresh({ call, search }: Bench, purchase: Purchase): Promise<void> {
  const ids = new Set(purchase.checkouts.map(({ orderId }) => orderId));
  const filters = search?.isOwn === true ? [{}] : [...ids].map((orderId) => ({ orderId }));
  for (const filter of filters)
    purchase.checkouts = mergeLists(purchase.checkouts, await listOrders(call, filter));
}

function mergeLists(
  knownCheckouts: readonly ListedCheckout[],
  newerCheckouts: readonly ListedCheckout[],
): readonly ListedCheckout[] {
  const byId = new Map(
    [...knownCheckouts, ...newerCheckouts].map((checkout) => [checkout.id, checkout] as const),
  );
  return [...byId.values()];
}

async function runCreate(
  { world, shop, target, signal, notes }: Bench,
  create: CreateMethod,
  { cartId, cookies }: Purchase,
): Promise<CreateRun> {
  if ("buy" in create) return create.buy();
  if ("commandLine" in create) {
    const result = await runMerchantCommand(world, {
      commandLine: create.commandLine,
      subject: { orderId: cartId },
      env: shop.env,
      timeoutMs: shop.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      signal,
    });
    const { ending, exitCode, stdout, stderr } = result;
    if (containsSecret(stdout) || containsSecret(stderr)) notes.secretPlaces.add("output");
    const hasEnded = ending !== "timeout";
    return { hasEnded, isDone: exitCode === 0, got: commandResult(result), text: stdout };
  }
  const fields = Object.entries(create.form).map(([name, value]): [string, string] => [
    name,
    value.replaceAll("{order_id}", () => cartId),
  ]);
  const url = fillAddress(create.url, { id: "", orderId: cartId });
  const cookie = cookies.headerFor(url, shop.cookie);
  const answer = await sendLocally(world, target, {
    method: "POST",
    url,
    headers: { ...BROWSER_HEADERS, ...cookie, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields).toString(),
    signal,
  });
  if (!answer.ok) {
    const hasEnded = answer.failure !== "timeout";
    return { hasEnded, isDone: false, got: noAnswer(answer.failure, answer.message), text: "" };
  }
  const { status, body, headers } = answer;
  cookies.keep(url, headers["set-cookie"]);
  const text = `${headers["location"] ?? ""}\n${body}`;
  return { hasEnded: true, isDone: status < 400, got: String(status), text };
}
