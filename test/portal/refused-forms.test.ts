import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { PRICE, WRONG_FORMS } from "../support/wrong-forms.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { postForm, signIn } from "../support/portal-sign-in.ts";
import { signedIn, textOf, type Page, type Portal } from "../support/portal.ts";

/** The page of each form that has another address than its page. */
const PAGES: Readonly<Record<string, string>> = {
  "/settings/return-origins": "/settings",
  "/webhooks/endpoints": "/webhooks",
  "/snapshots": "/stores",
  "/snapshots/all": "/stores",
  "/launch/waivers": "/launch",
  "/launch/production": "/launch",
};

async function openHarness() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  return { harness, sandbox, portal: await signedIn(harness, sandbox) };
}

async function openPortal(): Promise<Portal> {
  return (await openHarness()).portal;
}

/** The value of a field in the refused form. */
function valueIn({ html }: Page, name: string): string | undefined {
  const [, , value] =
    new RegExp(`(<input\\s+name="${name}"\\s+value="([^"]*)"[^>]*autofocus)`).exec(html) ?? [];
  return value;
}

test.each(["en", "zh"])(
  "a refused form is shown again with the typed values and the reason at the field with the mistake: %s",
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
      // A group of checkboxes has no text field.
      if (field !== "scopes" && field !== "types")
        expect([where, valueIn(refused, field)]).toEqual([where, fields[field]]);
      // The page does not update while the form is being corrected.
      expect([where, refused.html.includes("hx-get=")]).toEqual([where, false]);
    }
  },
);

test("a refused form keeps its other fields as typed, and fills no other form of the page", async () => {
  const portal = await openPortal();
  const priced = await portal.post(`${portal.home}/catalog`, {
    ...PRICE,
    payment_method: "wechat_pay",
    amount_minor: "x",
  });
  expect(priced.html).toMatch(/name="price_id"\s+value="oolong"/);
  expect(priced.html).toMatch(/<option value="wechat_pay" selected/);
  expect(priced.html).not.toMatch(/name="approved" value="yes"\s+checked/);
  const added = await portal.post(`${portal.home}/webhooks/endpoints`, {
    url: "x",
    "type order.paid": "on",
    "type order.failed": "on",
    in_order: "on",
  });
  expect(added.html).toMatch(/<details\s+class="panel"\s+open/);
  expect(added.html).toMatch(/name="type order\.failed"\s+checked/);
  expect(added.html).not.toMatch(/name="type order\.expired"\s+checked/);
  expect(added.html).toMatch(/name="in_order"\s+checked/);
  const moved = await portal.post(`${portal.home}/clock`, { action: "advance", by: "soon" });
  expect(moved.html.match(/class="refused"/g)).toHaveLength(1);
  expect(moved.html).toMatch(/name="to"\s+value="2026-01-15T13:00:00Z"/);
});

test("only the confirmation form of the refused action stays open", async () => {
  const { harness, sandbox, portal } = await openHarness();
  const first = sandbox.ready.store_id;
  const made = await harness.run(["stores", "create", "--name", "Second", "--json"]);
  const { store_id: second } = JSON.parse(made.stdout) as { readonly store_id: string };
  const typed = { name: "Secnd", page_of: first };
  for (const [path, fields] of [
    ["/portal/stores/reset", { store: second, ...typed }],
    [`/portal/${second}/delete`, typed],
  ] as const) {
    const refused = await portal.post(path, fields);
    expect([path, refused.status]).toEqual([path, 400]);
    expect(refused.html.match(/<details class="asked" open/g)).toHaveLength(1);
    expect(refused.html.match(/value="Secnd"[^>]*autofocus/g)).toHaveLength(1);
    expect(refused.text).toMatch(
      refusalText("store_name_differs", { wanted: '"Second"', received: '"Secnd"' }),
    );
    expect(refused.html).toContain(`action="${portal.home}/stores"`);
  }
  // A form that does not name its page, as a program would send it.
  const { status, text } = await portal.post("/portal/stores/reset", { store: first, name: "x" });
  expect([status, text.includes(english(FRAME_TEXTS.hints[400]))]).toEqual([400, true]);
});

test("a late action is refused, and shows the current page with the reason at the top", async () => {
  const { harness, portal } = await openHarness();
  const { id } = await harness.order("order-1");
  const page = `${portal.home}/checkouts/${id}`;
  await portal.act(`${page}/pay`, { outcome: "succeeded" });
  const late = await portal.post(`${page}/pay`, { outcome: "cancelled" });
  expect([late.status, late.location]).toEqual([409, undefined]);
  expect(late.html).toMatch(/<p class="notice bad" role="status"\s+tabindex="-1" autofocus>\s*\w+/);
  expect(late.text).toContain("succeeded");
  const gone = await portal.post(`${portal.home}/snapshots/remove`, { name: "nothing" });
  expect([gone.status, gone.text]).toEqual([
    404,
    expect.stringMatching(refusalText("no_snapshot", { snapshot: "nothing" })),
  ]);
});

test("a refused form of the administrator is also shown again with the reason", async () => {
  const { harness, sandbox } = await openHarness();
  const { cookie, formToken: token } = await signIn(harness, sandbox, "administrator");
  const path = `/portal/admin/${sandbox.ready.store_id}/acts`;
  const send = (fields: Readonly<Record<string, string>>) =>
    postForm(sandbox, path, { ...fields, token }, { Cookie: cookie });
  const noted = await send({ action: "approve_credential", note: "x".repeat(2000) });
  expect(noted.status).toBe(400);
  expect(String(noted.body).match(/<details class="asked" open/g)).toHaveLength(1);
  expect(String(noted.body)).toMatch(/name="note"\s+value="x+"[^>]*autofocus/);
  const named = await send({ action: "enable_capability", subject: "gold" });
  expect(String(named.body)).toMatch(/name="subject"\s+value="gold"/);
  expect(String(named.body)).toContain('class="refused"');
  const early = await send({ action: "open_gate", note: "" });
  expect([early.status, String(early.body).match(/class="refused"/g)?.length]).toEqual([409, 1]);
  const done = await send({ action: "approve_credential" });
  expect(done.headers["Location"]).toMatch(/\/admin\/[\w-]+\?said=/);
});

test("text that was typed into a refused form is escaped", async () => {
  const portal = await openPortal();
  const hostile = '"><script>alert(1)</script>';
  const { html } = await portal.post(`${portal.home}/settings/return-origins`, { origin: hostile });
  expect(html).not.toContain("<script>alert");
  expect(html).toContain("&lt;script&gt;");
});

test("a form with an unknown action is refused with an error page", async () => {
  const portal = await openPortal();
  const { status, text } = await portal.post(`${portal.home}/clock`, { action: "jump" });
  expect([status, text.includes(english(FRAME_TEXTS.hints[400]))]).toEqual([400, true]);
});
