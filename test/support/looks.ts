import type { Page } from "playwright-core";

/** The look of a page: theme, width of the window in pixels, size of the text. */
export type Look = {
  readonly colorScheme: "light" | "dark";
  readonly width: number;
  readonly text: string;
};

/** Sets the look of a page, and of each page that its tab loads later. */
export type SetLook = (look: Look) => Promise<void>;

/**
 * Returns a function that sets the look of a tab. It skips a theme or width that the tab already has, because setting
 * one takes as long as checking a page.
 */
export function lookSetter(page: Page, height: number): SetLook {
  let now: Partial<Look> = {};
  return async (look) => {
    const { colorScheme, width, text } = look;
    if (colorScheme !== now.colorScheme) await page.emulateMedia({ colorScheme });
    if (width !== now.width) await page.setViewportSize({ width, height });
    now = look;
    await page.evaluate(`document.documentElement.style.fontSize = ${JSON.stringify(text)}`);
  };
}
