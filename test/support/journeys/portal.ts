import { parse, type HTMLElement } from "node-html-parser";
import type { FullAnswer } from "../harness.ts";
import { portalPages, type PortalIds } from "../portal-addresses.ts";
import { askPortal, codeOf, cookieIn, postForm } from "../portal-sign-in.ts";
import { PORTAL_AREA } from "../../../src/sandbox/pages/portal/portal.ts";
import { agree } from "./agree.ts";
import { fetchParts } from "./parts.ts";
import type { Site } from "./site.ts";

/** The statuses of the pages that redirect to another page. */
const LEADS_ON: Readonly<Record<string, number>> = {
  "/portal": 303,
  "/portal/find": 303,
  "/portal/{anything}": 303,
  "/portal/{store_id}/find": 303,
  "/portal/{store_id}/start": 303,
};

/** The values that a person types into a form, by the form's path in the table. */
const TYPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "/portal/{store_id}/catalog": { price_id: "oolong", amount_minor: "750", currency: "EUR" },
  "/portal/{store_id}/settings/return-origins": { origin: "https://tea.example" },
  "/portal/{store_id}/stores": { name: "From the portal" },
  "/portal/{store_id}/snapshots": { name: "of-the-store" },
  "/portal/{store_id}/snapshots/all": { name: "of-all" },
  "/portal/{store_id}/webhooks/endpoints": { url: "{receiver}/hooks/more" },
  "/portal/{store_id}/launch/waivers": { reason: "Our shop books by hand" },
  "/portal/stores/reset": { name: "Sandbox Store" },
  "/portal/{store_id}/delete": { name: "Empty" },
};

/** The forms that remove the objects of other forms: posted last, in this order. */
const LAST = [
  "/portal/snapshots/restore",
  "/portal/stores/reset",
  "/portal/{store_id}/delete",
  "/portal/sign-out",
  "/portal/admin/sign-out",
  "/portal/sign-out-everywhere",
];

/** The paths of sign-in forms. */
const SIGN_IN = /\/sign-in$/;

/** A browser that is signed in with one role. */
type Visitor = { readonly role: "merchant" | "administrator"; cookie: string };

/** A form on a page of the portal: its address, the address of its page, and its path in the table. */
type FoundForm = { readonly action: string; readonly page: string; readonly path: string };

/**
 * Shows each page of the portal with its styles and scripts, in a full and in an empty store, and posts each form once,
 * except the sign-in forms.
 */
export async function walkPortal(site: Site): Promise<void> {
  const visitors = [await signedIn(site, "merchant"), await signedIn(site, "administrator")];
  const pages = await pagesOf(site);
  const forms = new Map<string, FoundForm>();
  for (const { path, role, address } of pages) {
    const page = await show(site, visitorOf(visitors, path), address);
    agree(`GET ${path} of a ${role}`, page.status, LEADS_ON[path] ?? 200);
    if (page.status !== 200) continue;
    const markup = parse(String(page.body));
    const at = new URL(address, site.ready.portal_url ?? "");
    await fetchParts(markup, at, (part) => askPortal(asSandbox(site), part));
    for (const form of markup.querySelectorAll("form[method=post]")) {
      const action = form.getAttribute("action") ?? "";
      const route = site.routes.of("POST", action)?.replace("POST ", "") ?? action;
      if (!forms.has(route)) forms.set(route, { action, page: address, path: route });
    }
  }
  await follow(site, visitorOf(visitors, "/portal"));
  const inOrder = [...forms.values()]
    .filter(({ path }) => !SIGN_IN.test(path))
    .toSorted((one, other) => LAST.indexOf(one.path) - LAST.indexOf(other.path));
  for (const form of inOrder) await send(site, visitors, form);
}

/** Maximum number of requests for a page until it is unchanged, including the first load. */
const MAX_LOADS = 5;

/** Follows a page as its script does: asks with the page's tag whether the page has changed. */
async function follow(site: Site, visitor: Visitor): Promise<void> {
  const path = `/portal/${site.ready.store_id}/checkouts`;
  const statuses: number[] = [];
  let tag: Readonly<Record<string, string>> = {};
  while (statuses.at(-1) !== 304 && statuses.length < MAX_LOADS) {
    const { status, body } = await show(site, visitor, path, tag);
    const asking = parse(String(body)).querySelector("[hx-headers]")?.getAttribute("hx-headers");
    tag = JSON.parse(asking ?? "{}") as typeof tag;
    statuses.push(status);
  }
  agree("a page that asks again", [statuses[0], statuses.at(-1)], [200, 304]);
}

function visitorOf([merchant, administrator]: readonly Visitor[], path: string): Visitor {
  const visitor = path.startsWith("/portal/admin") ? administrator : merchant;
  if (visitor === undefined) throw new Error("nobody is signed in");
  return visitor;
}

const asSandbox = (site: Site) => ({
  ready: site.ready,
  request: site.request,
  stop: () => Promise.reject(new Error("a journey stops its site itself")),
});

async function signedIn(site: Site, role: Visitor["role"]): Promise<Visitor> {
  const isMerchant = role === "merchant";
  const secret: Readonly<Record<string, string>> = isMerchant
    ? { code: codeOf((await site.ask("open --print"))["sign_in_url"] ?? "") }
    : { admin_token: site.adminToken() };
  const home = isMerchant ? "/portal" : "/portal/admin";
  const answer = await postForm(asSandbox(site), `${home}/sign-in`, secret);
  const cookie = cookieIn(answer);
  agree(`signing in as ${role}`, [answer.status, cookie !== ""], [303, true]);
  return { role, cookie };
}

function show(
  site: Site,
  { cookie }: Visitor,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FullAnswer> {
  const host = new URL(site.ready.portal_url ?? "").host;
  const own = { Authorization: "", Host: host, Cookie: cookie };
  return askPortal(asSandbox(site), { path, headers: { ...own, ...headers } });
}

/** Loads the page of a form again, fills the form, and posts it; an answer must be a page, or redirect to a page. */
async function send(site: Site, visitors: readonly Visitor[], form: FoundForm): Promise<void> {
  const visitor = visitorOf(visitors, form.path);
  if (visitor.cookie === "") Object.assign(visitor, await signedIn(site, visitor.role));
  const page = parse(String((await show(site, visitor, form.page)).body));
  const found = page.querySelector(`form[method=post][action="${form.action}"]`);
  if (found === null) throw new Error(`${form.page} has no form for ${form.path} any more`);
  const fields = fieldsOf(found, filled(site, form));
  const answer = await postForm(asSandbox(site), form.action, fields, { Cookie: visitor.cookie });
  const sentence = parse(String(answer.body)).querySelector(".refused, .notice.warn")?.textContent ?? "";
  agree(`POST ${form.path}`, [answer.status < 400, answer.status >= 400 ? sentence : ""], [true, ""]);
  if (/sign-out/.test(form.path)) visitor.cookie = "";
  const next = answer.headers["Location"]?.replace(/#.*/, "");
  if (next === undefined || visitor.cookie === "") return;
  const { status } = await show(site, visitor, new URL(next, site.ready.portal_url ?? "").pathname);
  agree(`${next} after POST ${form.path}`, status < 400, true);
}

function filled(site: Site, { path }: FoundForm): Readonly<Record<string, string>> {
  const typed = Object.entries(TYPED[path] ?? {}).map(([name, text]) => [
    name,
    text.replace("{receiver}", site.receiver),
  ]);
  return Object.fromEntries(typed) as Readonly<Record<string, string>>;
}

/** The fields that a browser sends with a form, with the texts that a person has typed. */
function fieldsOf(
  form: HTMLElement,
  typed: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const field of form.querySelectorAll("input[name], select[name]")) {
    const name = field.getAttribute("name") ?? "";
    const chosen = field.querySelector("option[selected]") ?? field.querySelector("option");
    fields[name] = typed[name] ?? (chosen ?? field).getAttribute("value") ?? "";
  }
  const button = form.querySelector("button[name]");
  if (button !== null) fields[button.getAttribute("name") ?? ""] = button.getAttribute("value") ?? "";
  return fields;
}

type Listed = Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>;

/** Lists every page of the table, in a store with objects of each kind and in an empty store. */
async function pagesOf(site: Site) {
  await site.ask(`endpoints add ${site.receiver}/fails`);
  const order = await site.ask<{ readonly data: { readonly id: string } }>(
    "orders create --order-id for-the-portal --price-id price_coffee",
  );
  await site.ask("faults add drop");
  await site.ask("faults add delay --latency 1ms");
  await site.ask("snapshots create before-the-portal");
  await site.ask("return-origins add https://shop.example");
  const empty = await site.ask<{ readonly store_id: string }>("stores create --name Empty");
  const listed = async (noun: string, field: string): Promise<string> => {
    const answer = await site.request({
      path: `/__sandbox/stores/${site.ready.store_id}/${noun}`,
      headers: { Authorization: `Bearer ${site.ready.control_token}` },
    });
    const { data } = JSON.parse(String(answer.body)) as { readonly data: Listed };
    return data[noun]?.at(-1)?.[field] ?? "";
  };
  const ids = {
    store_id: site.ready.store_id,
    portal: site.ready.store_id,
    admin: site.ready.store_id,
    anything: "for-the-portal",
    checkouts: order.data.id,
    requests: await listed("requests", "request_id"),
    deliveries: await listed("deliveries", "id"),
    endpoints: await listed("endpoints", "id"),
    events: await listed("events", "event_id"),
  } satisfies PortalIds;
  const ofNothing = { ...ids, store_id: empty.store_id, portal: empty.store_id, admin: empty.store_id };
  return [
    ...portalPages(PORTAL_AREA.routes, ids),
    ...portalPages(PORTAL_AREA.routes, ofNothing).filter(
      ({ path }) => path.includes("{store_id}") && !path.includes("{id}"),
    ),
  ];
}
