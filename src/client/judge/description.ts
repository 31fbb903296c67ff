// The shop as its section and options describe it.
import type { ShopSection } from "../../core/judge/shop.ts";
import type { JudgedShop, CreateMethod } from "./bench.ts";
import type { EnvironmentVariables, ViewSource } from "./view.ts";

/** A shop as described by the options and the section `shop`. */
export type ShopDescription = Omit<ShopSection, "paidWhen" | "orderIdOf" | "cookie"> & {
  readonly paidWhen?: RegExp | undefined;
  readonly orderIdOf?: RegExp | undefined;
  readonly cookie?: string | undefined;
};

/** The address of the return page without the two fields that the service appends to its query. */
function returnPage(page: string): string {
  return page.replaceAll(/(?:order_id=\{order_id\}|session_id=\{session_id\})&?/g, "").replace(/[?&]$/, "");
}

/** Makes the shop of a description. Its commands have the environment `env`; `addressOf` completes an address. */
export function shopOf(
  shop: ShopDescription,
  env: EnvironmentVariables,
  addressOf: (flag: string, text: string) => string,
): JudgedShop {
  const { returnUrl, paidWhen, bookings, amount, cookie, orderIdOf, settle } = shop;
  const create = createOf(shop, addressOf);
  const from = viewSource(shop, addressOf);
  return {
    create,
    kill: create !== undefined && "commandLine" in create ? () => Promise.resolve() : undefined,
    view: from && { from, paidWhen, bookings, amount },
    cookie,
    returnUrl: returnUrl && addressOf("--return-url", returnPage(returnUrl)),
    orderIdOf,
    settleMs: settle,
    env,
  };
}

function createOf(
  { create }: ShopDescription,
  addressOf: (flag: string, text: string) => string,
): CreateMethod | undefined {
  if (create === undefined) return undefined;
  if (typeof create === "string") return { commandLine: create };
  return { url: addressOf("create.post", create.post), form: create.form ?? {} };
}

function viewSource(
  { orderView, orderViewCommand }: ShopDescription,
  addressOf: (flag: string, text: string) => string,
): ViewSource | undefined {
  if (orderViewCommand !== undefined) return { commandLine: orderViewCommand };
  return orderView === undefined ? undefined : { url: addressOf("--order-view", orderView) };
}
