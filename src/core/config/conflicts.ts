import { isLoopback } from "../loopback.ts";
import type { FieldFault, FieldPath } from "./field.ts";
import type { NamedTarget, RequestedStore } from "./schema.ts";
import { targetVariable } from "./secrets.ts";

type Store = Omit<RequestedStore, "apiKeys" | "signingSecret">;
export type NamedField = readonly [path: FieldPath, name: string];

/** Finds conflicts between fields that are valid individually: one id for two things. Stores may share a name. */
export function conflictsIn(stores: readonly Store[]): FieldFault[] {
  const inStores = stores.map((store, at) => ({ store, path: ["stores", at] }));
  return [
    ...findRepeatedNames(inStores.map(({ store, path }) => [[...path, "id"], store.id])),
    ...merchantConflicts(stores),
    ...inStores.flatMap(({ store, path }) => conflictsInStore(store, path)),
  ];
}

function conflictsInStore(store: Store, path: FieldPath): FieldFault[] {
  const { prices = [], capabilities = {}, returnOrigins = [], endpoints = [] } = store;
  const twice = (names: readonly string[], list: FieldPath, ...field: FieldPath): FieldFault[] =>
    findRepeatedNames(names.map((name, at) => [[...path, ...list, at, ...field], name]));
  const { paymentMethods = [], currencies = [] } = capabilities;
  const urls = endpoints.map(({ url }) => canonicalUrl(url));
  return [
    ...twice(
      prices.map(({ id }) => id),
      ["prices"],
      "id",
    ),
    ...twice(paymentMethods, ["capabilities", "payment_methods"]),
    ...twice(currencies, ["capabilities", "currencies"]),
    ...twice(
      returnOrigins.map(({ origin }) => origin),
      ["return_origins"],
    ),
    ...twice(urls, ["endpoints"], "url"),
  ];
}

/** An API key over plain http to another machine, or one variable for two targets (decision 85). */
export function targetConflictsIn(targets: Readonly<Record<string, NamedTarget>>): FieldFault[] {
  const names = new Map<string, string>();
  return Object.entries(targets).flatMap(([name, { baseUrl }]) => {
    const variable = targetVariable(name);
    const other = names.get(variable);
    names.set(variable, other ?? name);
    const message = `has the same variable as ${other}, ${variable}; rename one of the two targets`;
    const { protocol, hostname } = new URL(baseUrl);
    const isSafe = protocol === "https:" || isLoopback(hostname);
    const shared = other === undefined ? [] : [{ path: ["targets", name], message }];
    const plain = isSafe ? [] : [{ path: ["targets", name, "base_url"], message: PLAIN_HTTP }];
    return shared.concat(plain);
  });
}

const PLAIN_HTTP =
  "must begin with https: an API key is sent over plain http only to this machine (127.0.0.1, localhost, [::1])";

/** All entries of one merchant must have the same name. */
function merchantConflicts(stores: readonly Store[]): FieldFault[] {
  const names = new Map<string, string>();
  return stores.flatMap(({ merchant }, at) => {
    if (merchant?.name === undefined) return [];
    const known = names.get(merchant.id) ?? merchant.name;
    names.set(merchant.id, known);
    if (known === merchant.name) return [];
    return [
      { path: ["stores", at, "merchant", "name"], message: "differs from the name of this merchant above" },
    ];
  });
}

export function findRepeatedNames(
  all: readonly NamedField[],
  message = "appears twice in this list",
): FieldFault[] {
  return all
    .filter(([, name], at) => all.findIndex(([, other]) => other === name) < at)
    .map(([path]) => ({ path, message }));
}

/** An endpoint's address as stored. */
export function canonicalUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}
