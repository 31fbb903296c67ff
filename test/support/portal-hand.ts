/** The elements that a person can click on a page. */
export const CLICKABLE = "a, button, summary, input[type=checkbox]";

/** A person with a mouse and a keyboard in front of the portal: everything is done by clicking and typing. */
export type Hand = {
  /** Clicks the first visible element with this text, and waits for the page to which a link or a button leads. */
  readonly click: (text: string | RegExp, within?: string) => Promise<void>;
  /** Clicks the link at the head of the first row that has this text. */
  readonly row: (text: string | RegExp) => Promise<void>;
  /** Clicks an entry of the store's menu. */
  readonly menu: (entry: string) => Promise<void>;
  /** Types into the field of this name, after a click on the field unless it has the focus. */
  readonly type: (name: string, text: string, within?: string) => Promise<void>;
  /** Types into the search field of the bar, and presses Enter, which counts as a click. */
  readonly search: (text: string) => Promise<void>;
  /** Waits until a text is visible. */
  readonly sees: (text: string | RegExp) => Promise<void>;
  /** Records a dead end if a forbidden text is visible. */
  readonly misses: (text: string) => Promise<void>;
  /** Clicks the button of a form that is refused in place: the same page with 400, and the sentence at its field. */
  readonly isRefused: (button: string, field: string) => Promise<void>;
  /** Clicks a link that opens a new tab; returns the hand in that tab, whose clicks count here. */
  readonly openTab: (text: string | RegExp) => Promise<Hand>;
  readonly close: () => Promise<void>;
};

/** The counts of a hand so far. */
export type HandCount = {
  clicks: number;
  /** The number of forms that were refused in place. */
  refusals: number;
  /** Pages without a way forward, and answers that no page expects. */
  readonly deadEnds: string[];
};

/** Thrown if a page has no way forward: the task then ends. */
export class DeadEnd extends Error {}

/** The elements that lead to another page: no summary, no checkbox, and no link within the page. */
export const LEADS_ON = "a[href]:not([href^='#']), button:not([type=button])";

/** Ends a task at its first dead end, which is recorded; all other errors are thrown. */
export async function untilDeadEnd(count: HandCount, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DeadEnd)) throw error;
    count.deadEnds.push(error.message);
  }
}
