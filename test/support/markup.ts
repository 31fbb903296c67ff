/** An element of a page as a browser without a script has it. */
export type Element = {
  readonly tag: string;
  /** Can be changed, as a person changes a field or opens what is closed. */
  readonly attributes: Map<string, string>;
  readonly children: (Element | string)[];
  readonly parent: Element | undefined;
};

const VOID = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "source",
  "wbr",
]);
const TOKEN =
  /<!--.*?-->|<![^>]*>|<(script|style)\b[^>]*>.*?<\/\1>|<(\/?)([a-z][\w-]*)((?:\s+[^\s"'>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*(\/?)>|[^<]+|</gis;
const ATTRIBUTE = /([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " " };

function decoded(text: string): string {
  return text.replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(String(hex), 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name] ?? all;
  });
}

/** The elements of a page of ours, whose markup closes what it opens. Scripts and styles are left out. */
export function parseMarkup(html: string): Element {
  const root: Element = { tag: "", attributes: new Map(), children: [], parent: undefined };
  let open = root;
  for (const [token, , slash, name = "", attributes = "", closed] of html.matchAll(TOKEN)) {
    if (name === "" && !token.startsWith("<")) open.children.push(decoded(token));
    if (name === "") continue;
    const tag = name.toLowerCase();
    if (slash === "/") {
      let one: Element | undefined = open;
      while (one !== undefined && one.tag !== tag) one = one.parent;
      if (one?.parent !== undefined) open = one.parent;
      continue;
    }
    const pairs = Array.from(attributes.matchAll(ATTRIBUTE), ([, key = "", ...values]) => [
      key.toLowerCase(),
      decoded(values.find((value) => value !== undefined) ?? ""),
    ]) as [string, string][];
    const made: Element = { tag, attributes: new Map(pairs), children: [], parent: open };
    open.children.push(made);
    if (!VOID.has(tag) && closed !== "/") open = made;
  }
  return root;
}

/** What stands in an element, with single spaces. */
export function textOfElement(element: Element): string {
  const told = ({ children }: Element): string =>
    children.map((one) => (typeof one === "string" ? one : told(one))).join("");
  return told(element).replaceAll(/\s+/g, " ").trim();
}

/** Whether a person sees an element: it is neither hidden nor in what is closed. */
export function isVisible(element: Element): boolean {
  const { tag, attributes, parent } = element;
  if (attributes.has("hidden") || attributes.get("type") === "hidden") return false;
  if (["head", "template"].includes(tag) || (tag === "dialog" && !attributes.has("open"))) return false;
  if (parent === undefined) return true;
  const isClosed = parent.tag === "details" && !parent.attributes.has("open") && tag !== "summary";
  return !isClosed && isVisible(parent);
}

/** All elements within one, in the order of the page. */
export function elementsIn({ children }: Element): readonly Element[] {
  return children.flatMap((one) => (typeof one === "string" ? [] : [one].concat(elementsIn(one))));
}

/** The part of a selector that one element fits or not: `summary`, `#add`, `tr:has-text('x')`, `[name="id"]`. */
const STEP = /^(?:[a-z]+|[#.][\w-]+|\[[^\]]+\]|:(?:has-text|has|not)\((?:[^()]|\([^()]*\))*\)|:last-child)+/;
const PIECE =
  /([a-z]+)|([#.])([\w-]+)|\[([\w-]+)(?:([$^]?=)["']?([^\]"']*)["']?)?\]|:(has-text|has|not|last-child)(?:\(((?:[^()]|\([^()]*\))*)\))?/gy;

/** Whether an element fits a selector: tags, ids, classes, attributes, `:has-text`, `:has`, `:not`, `:last-child`. */
export function fits(element: Element, selector: string): boolean {
  const steps: string[] = [];
  for (let left = selector.trim(); left !== "";) {
    const [step = ""] = STEP.exec(left) ?? [];
    if (step === "") throw new Error(`a selector that is not known here: ${selector}`);
    steps.push(step);
    left = left.slice(step.length).trim();
  }
  const [own = "", ...outer] = steps.toReversed();
  if (!fitsStep(element, own)) return false;
  let around = element.parent;
  for (const step of outer) {
    while (around !== undefined && !fitsStep(around, step)) around = around.parent;
    if (around === undefined) return false;
    around = around.parent;
  }
  return true;
}

function fitsStep(element: Element, step: string): boolean {
  const { attributes, parent } = element;
  return [...step.matchAll(PIECE)].every((piece) => {
    const [, tag, mark, name = "", attribute, how, value = "", pseudo, inner = ""] = piece;
    if (tag !== undefined) return element.tag === tag;
    if (mark === "#") return attributes.get("id") === name;
    if (mark === ".") return (attributes.get("class") ?? "").split(/\s+/).includes(name);
    if (attribute !== undefined) {
      const found = attributes.get(attribute);
      if (found === undefined || how === undefined) return found !== undefined;
      if (how === "=") return found === value;
      return how === "^=" ? found.startsWith(value) : found.endsWith(value);
    }
    if (pseudo === "has-text") return textOfElement(element).includes(inner.slice(1, -1));
    if (pseudo === "has") return elementsIn(element).some((one) => fits(one, inner));
    if (pseudo === "not") return !fits(element, inner);
    return parent?.children.findLast((one) => typeof one !== "string") === element;
  });
}
