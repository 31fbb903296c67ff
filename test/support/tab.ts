import { parse, type HTMLElement } from "node-html-parser";
import type { RunningSandbox } from "./harness.ts";
import { LEADS_ON } from "./portal-hand.ts";

/** The cookies of a browser: for each host the values by name. */
export type Cookies = Map<string, Map<string, string>>;

/** An answer to the request for a page: a redirect, or the page itself. */
export type Answer = { readonly method: "GET" | "POST"; readonly path: string; readonly status: number };

/** A tab of a browser without scripts, for a sandbox in this process. */
export type Tab = {
  readonly address: () => URL;
  /** The page, empty before the first load. Typed texts and opened elements change its attributes. */
  readonly page: () => HTMLElement;
  /** The first visible element that matches a selector, which may have `:has-text('…')`, and a condition. */
  readonly find: (selector: string, isIt?: (element: HTMLElement) => boolean) => HTMLElement | undefined;
  /** Loads a typed address, which may be relative; returns all answers. The last answer is the page itself. */
  readonly load: (address: string) => Promise<readonly Answer[]>;
  /**
   * Clicks an element: follows a link, sends the form of a button, opens or closes a summary, checks or unchecks a box.
   * Returns all answers; none if the tab stays on its page.
   */
  readonly press: (element: HTMLElement) => Promise<readonly Answer[]>;
  /** Sends the form of a button, or of a field in which Enter was pressed. */
  readonly send: (element: HTMLElement) => Promise<readonly Answer[]>;
};

/** Opens a tab at an address, and loads nothing yet. */
export function openTab(
  sandbox: RunningSandbox,
  { address: start, cookies }: { readonly address: string; readonly cookies: Cookies },
): Tab {
  let address = new URL(start);
  let page = parse("");
  let site = typed;

  const load = async (to: URL, body?: string): Promise<readonly Answer[]> => {
    const kept = cookies.get(to.host);
    const { status, headers, ...answer } = await sandbox.request({
      path: `${to.pathname}${to.search}`,
      headers: {
        Authorization: "",
        Host: to.host,
        "Sec-Fetch-Site": site(to),
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
        ...(kept === undefined ? {} : { Cookie: Array.from(kept, (pair) => pair.join("=")).join("; ") }),
        ...(body === undefined ? {} : { "Content-Type": "application/x-www-form-urlencoded" }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const [, name, value = ""] = /^([^=]+)=([^;]*)/.exec(headers["Set-Cookie"] ?? "") ?? [];
    if (name !== undefined) cookies.set(to.host, new Map(kept).set(name, value));
    const own: Answer = { method: body === undefined ? "GET" : "POST", path: to.pathname, status };
    const next = headers["Location"];
    if (next !== undefined) return [own, ...(await load(new URL(next, to)))];
    address = to;
    page = parse(String(answer.body), { blockTextElements: { script: false, style: false } });
    site = ({ host }) => (host === to.host ? "same-origin" : "cross-site");
    return [own];
  };

  const send: Tab["send"] = (button) => {
    const form = button.closest("form");
    if (form === null) throw new Error(`a button without a form: ${textIn(button)}`);
    const fields = new URLSearchParams();
    for (const field of form.querySelectorAll("[name]"))
      if (field.matches(SENT) || field === button)
        fields.append(field.getAttribute("name") ?? "", valueOf(field));
    const to = new URL(form.getAttribute("action") ?? "", address);
    if (form.getAttribute("method") === "post") return load(to, String(fields));
    to.search = String(fields);
    return load(to);
  };

  return {
    address: () => address,
    page: () => page,
    find: (selector, isIt = () => true) =>
      page
        // Tests in a browser share these selectors, in which Playwright's `:has-text` stands for `:contains`.
        .querySelectorAll(selector.replaceAll(":has-text(", ":contains("))
        .find((element) => isIt(element) && element.closest(OUT_OF_SIGHT) === null),
    load: (to) => {
      site = typed;
      return load(new URL(to, address));
    },
    press: (element) => {
      if (element.matches(LEADS_ON))
        return element.matches("a")
          ? load(new URL(element.getAttribute("href") ?? "", address))
          : send(element);
      const isSummary = element.matches("summary");
      const changed = isSummary ? element.closest("details") : element;
      const state = isSummary ? "open" : "checked";
      if (changed?.hasAttribute(state) === true) changed.removeAttribute(state);
      else changed?.setAttribute(state, "");
      return Promise.resolve([]);
    },
    send,
  };
}

/** The Sec-Fetch-Site header of a typed address. */
const typed = (_to: URL): string => "none";

/** Elements that a person does not see, including their contents. */
const OUT_OF_SIGHT = "[hidden], [type=hidden], head, dialog:not([open]), details:not([open]) > :not(summary)";

/** The fields that a browser sends with a form of our pages. */
const SENT = ":is(input:not([type=checkbox]), input[checked], select):not([disabled])";

/** The text of an element, with single spaces. */
export function textIn(element: HTMLElement): string {
  return element.textContent.replaceAll(/\s+/g, " ").trim();
}

function valueOf(field: HTMLElement): string {
  const chosen = field.querySelector("option[selected]") ?? field.querySelector("option");
  if (chosen !== null) return chosen.getAttribute("value") ?? textIn(chosen);
  return field.getAttribute("value") ?? (field.matches("[type=checkbox]") ? "on" : "");
}
