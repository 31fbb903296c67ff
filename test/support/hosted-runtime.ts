import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { CONTROL_OPERATIONS, OPERATION_NAMES } from "../../src/core/control/operations.ts";
import { part } from "./campaign.ts";
import { controlOf } from "./control.ts";
import { createHostedStore, databaseOf, type HostedService, type HostedStore } from "./hosted.ts";
import type { FullAnswer } from "./harness.ts";
import { openHttpReceiver, readBody } from "./http-receiver.ts";
import type { PaymentService, Runtime, StorePair } from "./runtimes.ts";
import { sendRaw } from "./send-raw.ts";
import type { ServiceProcess } from "./service-process.ts";

/** The factor by which workerd runs fewer rounds, because each of its requests opens its own connection. */
const FEWER = 10;

/** A hosted service as a runtime of the campaigns: each campaign gets a new store. */
export function hostedRuntime(service: HostedService): Runtime {
  return {
    openPayments: () => openPayments(service),
    openStores: () => openStores(service),
    share: (rounds) => Math.ceil(rounds / FEWER),
    lacks: new Set(OPERATION_NAMES.filter((name) => CONTROL_OPERATIONS[name].part !== undefined)),
    some: (rows, from) => part(rows, FEWER, from),
  };
}

/** Creates a new store of the service, whose process can be killed and restarted. */
export async function openHostedProcess(service: HostedService): Promise<ServiceProcess> {
  const { storeId, apiKey } = await createHostedStore(service);
  const access = await service.control(`/stores/${storeId}/access`);
  const { origin, controlToken: token } = service;
  const control = controlOf({ origin, token, storeId });
  const restart = async (): Promise<ServiceProcess> => {
    await service.restart();
    // An object starts with the first request that leads to it.
    await control.call("showClock", {});
    return made;
  };
  const made: ServiceProcess = {
    baseUrl: `${origin}/v1`,
    storeId,
    apiKey,
    signingSecret: String(access["signing_secret"]),
    control,
    openRows: () => openRows(service, storeId),
    kill: service.kill,
    restart,
    // workerd cannot be stopped in any other way.
    stop: async () => {
      await service.kill();
      await restart();
    },
  };
  return made;
}

function openRows(service: HostedService, storeId: string): Database.Database {
  const rows = new Database(databaseOf(service, storeId), { readonly: true, fileMustExist: true });
  onTestFinished(() => void rows.close());
  return rows;
}

async function openPayments(service: HostedService): Promise<PaymentService> {
  const { port, origin, controlToken } = service;
  const { storeId, apiKey } = await createHostedStore(service);
  const request: PaymentService["request"] = ({ method, path, headers, body }) => {
    const sent = {
      Authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    };
    const isGet = method === undefined && body === undefined;
    return sendRaw({ port, method: method ?? (isGet ? "GET" : "POST"), path, headers: sent }, body);
  };
  const ask = (path: string, body?: object): Promise<FullAnswer> =>
    request({
      path: `/__sandbox/stores/${storeId}${path}`,
      headers: { Authorization: `Bearer ${controlToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  /** Freezes the clock after each move, because real time passes between the moves. */
  const moveClock = async (body: object): Promise<FullAnswer> => {
    const answer = await ask("/clock", body);
    await ask("/clock", { action: "freeze" });
    return answer;
  };
  await moveClock({ action: "freeze" });
  const rows = openRows(service, storeId);
  const made: PaymentService = {
    request,
    control: (path, body) => (path === "/clock" && body !== undefined ? moveClock(body) : ask(path, body)),
    checkoutHost: new URL(origin).host,
    rows,
    passTime: async (milliseconds) => void (await moveClock({ action: "advance", by_ms: milliseconds })),
    restart: async () => {
      await service.kill();
      await service.restart();
      return made;
    },
    close: () => Promise.resolve(void rows.close()),
  };
  return made;
}

async function openStores(service: HostedService): Promise<StorePair> {
  const { port, origin, controlToken: control, adminToken: administrator } = service;
  const [one, other] = [await createHostedStore(service), await createHostedStore(service)];
  const databases = new Map([one, other].map(({ storeId }) => [storeId, databaseOf(service, storeId)]));
  const receiver = await openHttpReceiver((request, response) => {
    void readBody(request).then(() => response.end());
  });
  return {
    stores: [ownedOf(one), ownedOf(other)],
    tokens: { control, administrator },
    send: ({ body, ...call }) => sendRaw({ port, ...call }, body === "" ? undefined : body),
    host: new URL(origin).host,
    receiver: new URL(receiver).origin,
    databases: new Set(databases.values()),
    openDatabase: (storeId) => new Database(databases.get(storeId), { fileMustExist: true }),
  };
}

function ownedOf({ storeId, apiKey }: HostedStore): StorePair["stores"][number] {
  return { id: storeId, apiKey };
}
