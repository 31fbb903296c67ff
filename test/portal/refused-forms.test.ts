import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";
import { PRICE, WRONG_FORMS } from "../support/wrong-forms.ts";
import { signedIn, textOf, type Page, type Portal } from "../support/portal.ts";

/** The page that each form is on, where its address is not that of the form. */
const PAGES: Readonly<Record<string, string>> = {
  "/settings/return-origins": "/settings",
  "/webhooks/endpoints": "/webhooks",
};

async function openPortal(): Promise<Portal> {
  const harness = createHarness();
  return signedIn(harness, await harness.start());
}

/** What stands in a field of the form that was refused. */
function valueIn({ html }: Page, name: string): string | undefined {
  const [, , value] =
    new RegExp(`(<input\\s+name="${name}"\\s+value="([^"]*)"[^>]*autofocus)`).exec(html) ?? [];
  return value;
}

test.each(["en", "zh"])(
  "a refused form is its page, filled as it was, with the sentence at its field: %s",
  async (language) => {
    const portal = await openPortal();
    await portal.post("/portal/preferences", { language, back: portal.home });
    for (const [path, fields, field, said] of WRONG_FORMS) {
      const page = await portal.get(`${portal.home}${PAGES[path] ?? path}`);
      const refused = await portal.post(`${portal.home}${path}`, fields);
      const where = JSON.stringify([path, fields]);
      expect([where, refused.location, [400, 409].includes(refused.status)]).toEqual([
        where,
        undefined,
        true,
      ]);
      const heading = /<h1>.*?<\/h1>/s;
      expect([where, heading.exec(refused.html)?.[0]]).toEqual([where, heading.exec(page.html)?.[0]]);
      const sentences = [
        ...refused.html.matchAll(/<strong class="refused" id="refused-([^"]+)">(.*?)<\/strong>/gs),
      ];
      expect([where, sentences.map(([, name]) => name)]).toEqual([where, [field]]);
      const sentence = textOf(sentences[0]?.[2] ?? "");
      if (language === "en") expect([where, sentence]).toEqual([where, expect.stringMatching(said)]);
      else expect([where, sentence]).toEqual([where, expect.stringMatching(/\p{Script=Han}/u)]);
      // The groups of boxes have no field of their own.
      if (field !== "scopes" && field !== "types")
        expect([where, valueIn(refused, field)]).toEqual([where, fields[field]]);
      // Nothing takes the page away while it is corrected.
      expect([where, refused.html.includes("hx-get=")]).toEqual([where, false]);
    }
  },
);

test("the other fields of a refused form stay as they were typed, and other forms of the page are not filled", async () => {
  const portal = await openPortal();
  const priced = await portal.post(`${portal.home}/catalog`, {
    ...PRICE,
    payment_method: "wechat_pay",
    amount_minor: "x",
  });
  expect(priced.html).toMatch(/name="price_id"\s+value="oolong"/);
  expect(priced.html).toMatch(/<option value="wechat_pay" selected/);
  // Its box was not ticked.
  expect(priced.html).not.toMatch(/name="approved" value="yes"\s+checked/);
  const added = await portal.post(`${portal.home}/webhooks/endpoints`, {
    url: "x",
    "type order.paid": "on",
    "type order.failed": "on",
    in_order: "on",
  });
  expect(added.html).toMatch(/<details class="panel"\s+open/);
  expect(added.html).toMatch(/name="type order\.failed"\s+checked/);
  expect(added.html).not.toMatch(/name="type order\.expired"\s+checked/);
  expect(added.html).toMatch(/name="in_order"\s+checked/);
  const moved = await portal.post(`${portal.home}/clock`, { action: "advance", by: "soon" });
  expect(moved.html.match(/class="refused"/g)).toHaveLength(1);
  expect(moved.html).toMatch(/name="to"\s+value="2026-01-15T13:00:00Z"/);
});

test("what was typed is text, whatever it is", async () => {
  const portal = await openPortal();
  const hostile = '"><script>alert(1)</script>';
  const { html } = await portal.post(`${portal.home}/settings/return-origins`, { origin: hostile });
  expect(html).not.toContain("<script>alert");
  expect(html).toContain("&lt;script&gt;");
});

test("a form that no page has is refused by a page of its own", async () => {
  const portal = await openPortal();
  const { status, text } = await portal.post(`${portal.home}/clock`, { action: "jump" });
  expect([status, text.includes("Go back, correct what is named here")]).toEqual([400, true]);
});
