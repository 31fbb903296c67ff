// Changes that a test suite makes to its process: each row makes one change, uses the kit, and undoes the change.
// Without an argument, runs the rows that change the process after the import of the kit; with the name of a row, runs
// only this row, before the import. Prints a line of JSON for each row.
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import { mock } from "node:test";
import vm from "node:vm";

const never = () => 0;
const broken = (name) => () => {
  throw new Error(`${name} is the test suite's`);
};

/** Replaces a member; returns a function that restores it. */
function replace(owner, name, value) {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) delete owner[name];
    else Object.defineProperty(owner, name, before);
  };
}

function replaceAll(pairs) {
  const undo = pairs.map((pair) => replace(...pair));
  return () => undo.toReversed().forEach((one) => one());
}

/** A Date class whose present time never changes, as with fake timers. */
function frozenDate(at) {
  return class extends Date {
    constructor(...values) {
      super(...(values.length === 0 ? [at] : values));
    }
    static now() {
      return at;
    }
  };
}

function mockTimers(options) {
  mock.timers.enable(options);
  return () => mock.timers.reset();
}

const GLOBALS = [
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "setImmediate",
  "clearImmediate",
];
const REALMS = ["Uint8Array", "ArrayBuffer", "Date", "Error", "TypeError", "URL", "Map", "Set"];
const OTHER = vm.createContext();

const ROWS = {
  ...Object.fromEntries(GLOBALS.map((name) => [name, () => replace(globalThis, name, never)])),
  "all timers": () => replaceAll(GLOBALS.map((name) => [globalThis, name, never])),
  queueMicrotask: () => replace(globalThis, "queueMicrotask", never),
  requestAnimationFrame: () => replace(globalThis, "requestAnimationFrame", never),
  performance: () => replace(globalThis, "performance", { now: () => 0 }),
  "performance.now": () => replace(performance, "now", () => 0),
  hrtime: () => replace(process, "hrtime", never),
  "Math.random": () => replace(Math, "random", () => 0.5),
  "Date.now": () => replace(Date, "now", () => 0),
  "Date of 1970": () => replace(globalThis, "Date", frozenDate(0)),
  "Date of 2001": () => replace(globalThis, "Date", frozenDate(Date.UTC(2001, 0, 1))),
  "Date of 2020": () => replace(globalThis, "Date", frozenDate(Date.UTC(2020, 0, 1))),
  "Date of 2040": () => replace(globalThis, "Date", frozenDate(Date.UTC(2040, 0, 1))),
  "Date of 9999": () => replace(globalThis, "Date", frozenDate(Date.UTC(9999, 0, 1))),
  "Date without a time": () => replace(globalThis, "Date", frozenDate(Number.NaN)),
  "node:test, all": () => mockTimers(),
  ...Object.fromEntries(
    ["setTimeout", "setInterval", "setImmediate", "Date"].map((name) => [
      `node:test, ${name}`,
      () => mockTimers({ apis: [name] }),
    ]),
  ),
  "node:test, 2020": () => mockTimers({ now: Date.UTC(2020, 0, 1) }),
  ...Object.fromEntries(
    REALMS.filter((name) => name !== "URL").map((name) => [
      `${name} of another realm`,
      () => replace(globalThis, name, vm.runInContext(name, OTHER)),
    ]),
  ),
  "no TextDecoder": () => replace(globalThis, "TextDecoder", undefined),
  "no TextEncoder": () => replace(globalThis, "TextEncoder", undefined),
  "no setImmediate": () => replace(globalThis, "setImmediate", undefined),
  "no fetch": () =>
    replaceAll(["fetch", "Request", "Response", "Headers"].map((name) => [globalThis, name, undefined])),
  fetch: () => replace(globalThis, "fetch", broken("fetch")),
  "process.stdout.write": () => replace(process.stdout, "write", broken("stdout")),
  "process.stderr.write": () => replace(process.stderr, "write", broken("stderr")),
  console: () =>
    replaceAll(["log", "error", "warn", "info", "debug"].map((name) => [console, name, broken("console")])),
  "process.exit": () => replace(process, "exit", broken("exit")),
  "process.env": () => replace(process, "env", Object.freeze({})),
  "process.cwd": () => replace(process, "cwd", () => "/a folder that was removed"),
  "file system": () =>
    replaceAll(
      Object.keys(fs)
        .filter((name) => typeof fs[name] === "function" && /^[a-z]/.test(name))
        .map((name) => [fs, name, broken(name)]),
    ),
  "http.request of an agent": () => {
    const { request } = http;
    return replace(http, "request", (...values) => {
      const sent = request(...values);
      sent.setHeader("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
      return sent;
    });
  },
  "net.connect of an agent": () => {
    const { connect } = net;
    return replace(net, "connect", (...values) => connect(...values));
  },
  "Promise of an agent": () => replace(globalThis, "Promise", class extends Promise {}),
  "Error.prepareStackTrace": () => replace(Error, "prepareStackTrace", (_error, sites) => sites),
  "Error.stackTraceLimit": () => replace(Error, "stackTraceLimit", 0),
};

const print = process.stdout.write.bind(process.stdout);

/** Uses the kit as a test does: a create, a payment, a verified webhook, and the waits for them. */
async function useKit({ startSandbox }) {
  const sandbox = await startSandbox();
  const { store } = sandbox;
  const receiver = await store.receiver();
  const order = await store.orders.create({ order_id: "order-1001", price_id: "price_coffee" });
  await store.pay(order.id);
  const webhook = await receiver.waitFor("order.succeeded");
  const request = await store.requests.waitFor("POST /orders");
  const late = await store.events.waitFor("order.failed", { timeoutMs: 20 }).catch((error) => error.name);
  const { createdAt } = (await store.deliveries.list())[0];
  await sandbox.close();
  return [webhook.verified, request.status, late, new RealDate(createdAt).getFullYear() > 2024].join();
}

const RealDate = Date;
const [only] = process.argv.slice(2);
const kit = only === undefined ? await import("hosted-checkout/testing") : undefined;
for (const [name, change] of Object.entries(ROWS)) {
  if (only !== undefined && name !== only) continue;
  const undo = change();
  let result;
  try {
    result = await useKit(kit ?? (await import("hosted-checkout/testing")));
  } catch (error) {
    result = `${error.name}: ${error.message}`;
  }
  undo();
  print(`${JSON.stringify([name, result])}\n`);
}
