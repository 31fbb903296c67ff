import { storeNameFault } from "../../src/core/config/store-name.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";
import { inOrder } from "./in-order.ts";
import { refusalText } from "./refusal-texts.ts";

/** The fields of a form, by their names. */
export type Fields = Readonly<Record<string, string>>;

/** A form with a mistake, the wrong field (empty: the refusal is about the whole form), and the refusal. */
type WrongForm = readonly [path: string, fields: Fields, field: string, said: RegExp];

/** The fields of a valid price. */
export const PRICE = {
  price_id: "oolong",
  amount_minor: "700",
  currency: "EUR",
  payment_method: "alipay_plus",
};
const WRONG_URLS = [
  "3000",
  "localhost:3000/hooks",
  "ftp://localhost/hooks",
  "http://user@localhost:3000/",
  "http://localhost:3000/#hooks",
  "http://127.1:3000/hooks",
  "https://example.com/hooks",
  "http://localhost:4242/hooks",
] as const;

const SPACED_NAME = "茶  店";

/** Forms with one wrong field, by path below the store. */
export const WRONG_FORMS: readonly WrongForm[] = [
  ["/clock", { action: "advance", by: "soon" }, "by", refusalText("duration_form")],
  ["/clock", { action: "advance", by: "900d" }, "by", /./],
  ["/clock", { action: "set", to: "tomorrow" }, "to", refusalText("moment_form")],
  ["/clock", { action: "set", to: "2026-02-30T12:00:00Z" }, "to", refusalText("moment_form")],
  ["/faults", { action: "status", status: "many" }, "status", refusalText("field_form")],
  ["/faults", { action: "status", status: "200" }, "status", /400/],
  ["/faults", { action: "status", latency: "2s" }, "latency", refusalText("fault_parameter")],
  ["/faults", { action: "delay", latency: "2 s" }, "latency", refusalText("duration_form")],
  ["/faults", { action: "delay", until: "soon" }, "until", refusalText("field_form")],
  ["/faults", { action: "delay", probability: "2" }, "probability", inOrder(PART_TEXTS.probability)],
  ["/faults", { action: "delay", nth: "0" }, "nth", /./],
  ["/faults", { action: "delay", path: "/v1/orders" }, "path", refusalText("fault_of_deliveries")],
  ["/catalog", { ...PRICE, amount_minor: "7.00" }, "amount_minor", /700/],
  ["/catalog", { ...PRICE, amount_minor: "0" }, "amount_minor", /./],
  ["/catalog", { ...PRICE, currency: "euro" }, "currency", /./],
  ["/catalog", { ...PRICE, price_id: "" }, "price_id", /./],
  ["/catalog", { ...PRICE, price_id: "price_coffee" }, "price_id", /price_coffee/],
  ["/keys", {}, "scopes", /./],
  ["/settings/return-origins", { origin: "shop.example" }, "origin", inOrder(PART_TEXTS.with_scheme)],
  [
    "/settings/return-origins",
    { origin: "https://shop.example", path: "x" },
    "path",
    inOrder(PART_TEXTS.leading_slash),
  ],
  ["/stores", { name: SPACED_NAME }, "name", inOrder(storeNameFault(SPACED_NAME) ?? "")],
  ["/stores", { name: "x".repeat(65), merchant: "new" }, "name", /64/],
  ["/snapshots", { name: "../x" }, "name", /./],
  ["/snapshots/all", { name: "" }, "name", /./],
  ["/launch/waivers", { drill: "webhook", reason: "" }, "reason", /./],
  ["/launch/waivers", { drill: "duplicates", reason: "x".repeat(2000) }, "reason", /./],
  ["/launch/production", { note: "x".repeat(2000) }, "note", /./],
  ...WRONG_URLS.map((url): WrongForm => ["/webhooks/endpoints", { url }, "url", /./]),
  ["/webhooks/endpoints", { url: "http://localhost:3009/", "type order.x": "on" }, "types", /order\.x/],
];
