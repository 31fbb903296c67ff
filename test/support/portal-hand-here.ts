import type { HTMLElement } from "node-html-parser";
import { runOn } from "./eventually.ts";
import type { RunningSandbox } from "./harness.ts";
import { CLICKABLE, DeadEnd, type Hand, type HandCount } from "./portal-hand.ts";
import { openTab, textIn, type Answer, type Cookies } from "./tab.ts";

/**
 * A hand in a browser without scripts and window: it sees the markup, and reloads the page before it gives up a search.
 */
export async function handHere(
  sandbox: RunningSandbox,
  { address, cookies }: { readonly address: string; readonly cookies: Cookies },
  count: HandCount,
): Promise<Hand> {
  const tab = openTab(sandbox, { address, cookies });
  /** The name of the field that has the focus. */
  let focus: string | undefined;
  const placeOf = (): string => tab.address().pathname.replace(/^\/portal\/k-[^/]+\/[^/]+/, "");

  /** Records the errors on the way to a page, and moves the focus to the page's autofocus field. */
  const arrive = (answers: readonly Answer[], mayBeRefused = false): void => {
    for (const { method, path, status } of answers) {
      const isRefused = mayBeRefused && method === "POST" && status === 400;
      if (status >= 400 && !isRefused) count.deadEnds.push(`${status} at ${method} ${path}`);
    }
    focus = tab.find("[autofocus]")?.getAttribute("name");
  };

  /** Finds the first visible element; if there is none, waits for requests in flight, and reloads the page. */
  const find = async (
    selector: string,
    wanted: string,
    isIt?: (element: HTMLElement) => boolean,
  ): Promise<HTMLElement> => {
    const look = (): HTMLElement | undefined => tab.find(selector, isIt);
    let found = look();
    if (found === undefined) {
      await runOn();
      arrive(await tab.load(""));
    }
    found ??= look();
    if (found === undefined) throw new DeadEnd(`no ${wanted} on ${placeOf()}`);
    return found;
  };

  const press = async (element: HTMLElement, mayBeRefused = false): Promise<void> => {
    count.clicks += 1;
    const answers = await tab.press(element);
    if (answers.length > 0) arrive(answers, mayBeRefused);
  };

  const clickable = (text: string | RegExp, within = "body"): Promise<HTMLElement> =>
    find(`${within} :is(${CLICKABLE})`, String(text), (element) => {
      const own = textIn(element);
      return typeof text === "string" ? own === text : text.test(own);
    });

  const fill = (field: HTMLElement, text: string): void => {
    const name = field.getAttribute("name");
    if (focus !== name) count.clicks += 1;
    focus = name;
    field.setAttribute("value", text);
  };

  arrive(await tab.load(""));
  return {
    click: async (text, within) => press(await clickable(text, within)),
    row: async (text) =>
      press(
        await find("main tbody tr a", `row with ${String(text)}`, (link) => {
          const row = link.closest("tr");
          return row !== null && holds(row, text);
        }),
      ),
    menu: async (entry) => press(await find("nav.menu a", entry, (link) => holds(link, entry))),
    type: async (name, text, within = "main") =>
      fill(await find(`${within} input[name="${name}"]`, `field ${name}`), text),
    search: async (text) => {
      const field = await find("#search", "search");
      fill(field, text);
      count.clicks += 1;
      arrive(await tab.send(field));
    },
    sees: async (text) =>
      void (await find("body *", `text ${String(text)}`, (element) => shows(element, text))),
    misses: async (text) => {
      if (tab.find("body *", (element) => shows(element, text)) !== undefined)
        count.deadEnds.push(`there is still ${text} on ${placeOf()}`);
    },
    isRefused: async (button, field) => {
      const before = tab.address().pathname;
      count.refusals += 1;
      await press(await clickable(button, `main form:has([name="${field}"])`), true);
      await find(`#refused-${field}`, `sentence at ${field}`);
      const now = tab.address().pathname;
      if (!now.startsWith(before)) count.deadEnds.push(`the refused form of ${before} is on ${now}`);
      if (focus !== field) count.deadEnds.push(`the focus is in ${focus}, and ${field} was refused`);
    },
    openTab: async (text) => {
      const link = await clickable(text);
      count.clicks += 1;
      const to = new URL(link.getAttribute("href") ?? "", tab.address());
      return handHere(sandbox, { address: to.href, cookies }, count);
    },
    close: () => Promise.resolve(),
  };
}

function holds(element: HTMLElement, text: string | RegExp): boolean {
  const own = textIn(element);
  return typeof text === "string" ? own.toLowerCase().includes(text.toLowerCase()) : text.test(own);
}

/** Whether an element has a text that no child has: an element around the text may be visible while the text is not. */
function shows(element: HTMLElement, text: string | RegExp): boolean {
  return holds(element, text) && !element.children.some((child) => holds(child, text));
}
