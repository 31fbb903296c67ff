import { runOn } from "./eventually.ts";
import type { RunningSandbox } from "./harness.ts";
import { elementsIn, fits, isVisible, parseMarkup, textOfElement, type Element } from "./markup.ts";
import { CLICKABLE, DeadEnd, LEADS_ON, type Hand, type HandCount } from "./portal-hand.ts";

/** A tab of a browser without a script, whose sandbox runs in this process. */
type Tab = { address: URL; page: Element | undefined; focus: string | undefined };

/** The cookies of a browser, by their names. */
type Cookies = Map<string, string>;

const isOneOf = (element: Element, selectors: string): boolean =>
  selectors.split(", ").some((selector) => fits(element, selector));

/**
 * A hand in a browser without a script and without a window: it sees what the markup shows, sends the forms with what
 * stands in their fields, and loads a page once more before it gives up looking for something.
 */
export async function handHere(
  sandbox: RunningSandbox,
  { address, cookies }: { readonly address: string; readonly cookies: Cookies },
  count: HandCount,
): Promise<Hand> {
  const tab: Tab = { address: new URL(address), page: undefined, focus: undefined };
  const elements = (): readonly Element[] => (tab.page === undefined ? [] : elementsIn(tab.page));
  const placeOf = (): string => tab.address.pathname.replace(/^\/portal\/k-[^/]+\/[^/]+/, "");

  const load = async (
    to: URL,
    form?: { readonly body: string; readonly mayBeRefused: boolean },
  ): Promise<void> => {
    const isPortal = to.host === new URL(sandbox.ready.portal_url ?? "http://none").host;
    const site =
      tab.page === undefined ? "none" : to.host === tab.address.host ? "same-origin" : "cross-site";
    const { status, headers, body } = await sandbox.request({
      path: `${to.pathname}${to.search}`,
      headers: {
        Authorization: "",
        Host: to.host,
        "Sec-Fetch-Site": site,
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
        ...(isPortal ? { Cookie: Array.from(cookies, (pair) => pair.join("=")).join("; ") } : {}),
        ...(form === undefined ? {} : { "Content-Type": "application/x-www-form-urlencoded" }),
      },
      ...(form === undefined ? {} : { body: form.body }),
    });
    const [, name, value = ""] = /^([^=]+)=([^;]*)/.exec(headers["Set-Cookie"] ?? "") ?? [];
    if (name !== undefined) cookies.set(name, value);
    const next = headers["Location"];
    if (next !== undefined) return load(new URL(next, to));
    const isRefused = status === 400 && form?.mayBeRefused === true;
    if (status >= 400 && !isRefused)
      count.deadEnds.push(`${status} at ${form === undefined ? "GET" : "POST"} ${to.pathname}`);
    tab.address = to;
    tab.page = parseMarkup(String(body));
    tab.focus = elements()
      .find((one) => one.attributes.has("autofocus") && isVisible(one))
      ?.attributes.get("name");
  };

  /** The first in sight; where there is none, it waits for what was begun, and loads the page once more. */
  const find = async (wanted: string, isIt: (element: Element) => boolean): Promise<Element> => {
    const look = (): Element | undefined => elements().find((element) => isIt(element) && isVisible(element));
    let found = look();
    if (found === undefined) {
      await runOn();
      await load(tab.address);
    }
    found ??= look();
    if (found === undefined) throw new DeadEnd(`no ${wanted} on ${placeOf()}`);
    return found;
  };

  const send = async (button: Element, mayBeRefused: boolean): Promise<void> => {
    const { attributes } = button;
    let form: Element | undefined = button;
    while (form !== undefined && form.tag !== "form") form = form.parent;
    const id = attributes.get("form");
    if (id !== undefined) form = elements().find((one) => one.attributes.get("id") === id);
    if (form === undefined) throw new DeadEnd(`a button without a form on ${placeOf()}`);
    const fields = new URLSearchParams();
    for (const field of elementsIn(form)) {
      const name = field.attributes.get("name");
      if (name !== undefined && (isSent(field) || field === button)) fields.append(name, valueOf(field));
    }
    const to = new URL(attributes.get("formaction") ?? form.attributes.get("action") ?? "", tab.address);
    if (form.attributes.get("method") === "post") return load(to, { body: String(fields), mayBeRefused });
    to.search = String(fields);
    return load(to);
  };

  const press = async (element: Element, mayBeRefused = false): Promise<void> => {
    count.clicks += 1;
    const { tag, attributes, parent } = element;
    if (isOneOf(element, LEADS_ON))
      return tag === "a"
        ? load(new URL(attributes.get("href") ?? "", tab.address))
        : send(element, mayBeRefused);
    const switched = tag === "summary" ? parent?.attributes : attributes;
    const how = tag === "summary" ? "open" : "checked";
    if (switched?.delete(how) === false) switched.set(how, "");
  };

  const clickable = (text: string | RegExp, within: string): Promise<Element> =>
    find(String(text), (element) => {
      if (!isOneOf(element, CLICKABLE) || (within !== "body" && !isWithin(element, within))) return false;
      const own = textOfElement(element);
      return typeof text === "string" ? own === text : text.test(own);
    });

  const fieldNamed = (name: string, within: string): Promise<Element> =>
    find(
      `field ${name}`,
      (one) => one.tag === "input" && one.attributes.get("name") === name && isWithin(one, within),
    );

  const fill = (field: Element, text: string): void => {
    const name = field.attributes.get("name");
    if (tab.focus !== name) count.clicks += 1;
    tab.focus = name;
    field.attributes.set("value", text);
  };

  const sees: Hand["sees"] = async (text) => {
    const wanted = typeof text === "string" ? text.toLowerCase() : text;
    await find(`text ${String(text)}`, (element) => {
      const own = textOfElement(element);
      return typeof wanted === "string" ? own.toLowerCase().includes(wanted) : wanted.test(own);
    });
  };

  await load(tab.address);
  return {
    click: async (text, within = "body") => press(await clickable(text, within)),
    row: async (text) =>
      press(
        await find(`row with ${String(text)}`, (element) => {
          let row: Element | undefined = element;
          while (row !== undefined && !fits(row, "main tbody tr")) row = row.parent;
          if (element.tag !== "a" || row === undefined) return false;
          const own = textOfElement(row);
          return typeof text === "string" ? own.includes(text) : text.test(own);
        }),
      ),
    menu: async (entry) =>
      press(await find(entry, (one) => fits(one, "nav.menu a") && textOfElement(one).includes(entry))),
    type: async (name, text, within = "main") => fill(await fieldNamed(name, within), text),
    search: async (text) => {
      const field = await find("search", (one) => one.attributes.get("id") === "search");
      fill(field, text);
      count.clicks += 1;
      await send(field, false);
    },
    sees,
    misses: async (text) => {
      const isThere = elements().some((one) => isVisible(one) && textOfElement(one).includes(text));
      if (isThere) count.deadEnds.push(`there is still ${text} on ${placeOf()}`);
    },
    isRefused: async (button, field) => {
      const before = tab.address.pathname;
      count.refusals += 1;
      await press(await clickable(button, `main form:has([name="${field}"])`), true);
      await find(`sentence at ${field}`, (one) => one.attributes.get("id") === `refused-${field}`);
      if (!tab.address.pathname.startsWith(before))
        count.deadEnds.push(`the refused form of ${before} is on ${tab.address.pathname}`);
      if (tab.focus !== field) count.deadEnds.push(`the focus is in ${tab.focus}, and ${field} was refused`);
    },
    openTab: async (text) => {
      const link = await clickable(text, "body");
      count.clicks += 1;
      const to = new URL(link.attributes.get("href") ?? "", tab.address);
      return handHere(sandbox, { address: to.href, cookies }, count);
    },
    close: () => Promise.resolve(),
  };
}

function isWithin(element: Element, selector: string): boolean {
  let around = element.parent;
  while (around !== undefined && !fits(around, selector)) around = around.parent;
  return around !== undefined;
}

/** Whether a browser sends a field with its form. */
function isSent({ tag, attributes }: Element): boolean {
  if (attributes.has("disabled") || !["input", "select", "textarea"].includes(tag)) return false;
  return !["checkbox", "radio"].includes(attributes.get("type") ?? "") || attributes.has("checked");
}

function valueOf(field: Element): string {
  const { tag, attributes } = field;
  if (tag === "textarea") return textOfElement(field);
  if (tag !== "select") return attributes.get("value") ?? (attributes.get("type") === "checkbox" ? "on" : "");
  const options = elementsIn(field).filter((one) => one.tag === "option");
  const chosen = options.find((one) => one.attributes.has("selected")) ?? options[0];
  return chosen === undefined ? "" : (chosen.attributes.get("value") ?? textOfElement(chosen));
}
