import type { ShopSection } from "../../../core/judge/shop.ts";
import type { JudgedShop, CreateMethod } from "../bench.ts";
import type { EnvironmentVariables, ViewSource } from "./view.ts";

export type ShopDescription = Omit<ShopSection, "paidWhen" | "orderIdOf" | "cookie"> & {
  readonly paidWhen?: RegExp | undefined;
  readonly orderIdOf?: RegExp | undefined;
  readonly cookie?: string | undefined;
};

function returnPage(page: string): string {
  return page.replaceAll(/(?:order_id=\{order_id\}|session_id=\{session_id\})&?/g, "").replace(/[?&]$/, "");
}

type AddressOf = (flag: string, text: string) => string;

export function shopOf(shop: ShopDescription, env: EnvironmentVariables, addressOf: AddressOf): JudgedShop {
  const { returnUrl, paidWhen, bookings, amount, cookie, orderIdOf, settle } = shop;
  const create = createOf(shop, addressOf);
  const source = viewSource(shop, addressOf);
  return {
    create,
    kill: create !== undefined && "commandLine" in create ? () => Promise.resolve() : undefined,
    view: source && { source, paidWhen, bookings, amount },
    cookie,
    returnUrl: returnUrl && addressOf("--return-url", returnPage(returnUrl)),
    orderIdOf,
    settleMs: settle,
    env,
  };
}

function createOf({ create }: ShopDescription, addressOf: AddressOf): CreateMethod | undefined {
  if (create === undefined) return undefined;
  if (typeof create === "string") return { commandLine: create };
  return { url: addressOf("create.post", create.post), form: create.form ?? {} };
}

function viewSource(shop: ShopDescription, addressOf: AddressOf): ViewSource | undefined {
  const { orderView, orderViewCommand } = shop;
  if (orderViewCommand !== undefined) return { commandLine: orderViewCommand };
  return orderView === undefined ? undefined : { url: addressOf("--order-view", orderView) };
}
