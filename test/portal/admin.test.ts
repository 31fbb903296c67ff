import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { ADMIN_TEXTS } from "../../src/sandbox/pages/portal/admin/texts.ts";
import { LAUNCH_TEXTS } from "../../src/sandbox/pages/portal/readiness/texts.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { inOrder } from "../support/in-order.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { signedIn, textOf } from "../support/portal.ts";
import { askPortal, load, postForm, signIn } from "../support/portal-sign-in.ts";

type Fields = Readonly<Record<string, string>>;

/** A sandbox with its merchant and its administrator, each signed in with a browser. */
async function openAdmin() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const merchant = await signedIn(harness, sandbox);
  const { cookie: Cookie, formToken: token } = await signIn(harness, sandbox, "administrator");
  const get = async (path: string) => {
    const { status, body } = await load(sandbox, path, { Cookie });
    return { status, html: String(body), text: textOf(String(body)) };
  };
  const post = async (path: string, fields: Fields) => {
    const { status, headers } = await postForm(sandbox, path, { ...fields, token }, { Cookie });
    return { status, location: headers["Location"] };
  };
  const home = `/portal/admin/${sandbox.ready.store_id}`;
  const admin = {
    home,
    get,
    post,
    /** Posts an action, and loads the page that follows. */
    act: async (fields: Fields) => {
      const { location, status } = await post(`${home}/acts`, fields);
      expect([fields, status, location?.replace(/\?said=.*/, "")]).toEqual([fields, 303, home]);
      return get(home);
    },
  };
  return { harness, sandbox, merchant, admin };
}

test("the administrator's page shows which store's request is waiting, and the administrator answers it on the store's page", async () => {
  const { harness, sandbox, merchant, admin } = await openAdmin();
  await harness.run(["stores", "create", "--name", "Tea Shop"]);
  expect((await admin.post(`${admin.home}/acts`, { action: "open_gate" })).status).toBe(409);
  const other = await admin.get("/portal/admin");
  expect(other.text).not.toContain(english(ADMIN_TEXTS.waiting));
  await merchant.post(`${merchant.home}/launch/production`, { note: "launch on 1 December" });
  expect((await admin.get("/portal/admin")).text).toMatch(
    inOrder(sandbox.ready.store_name, ADMIN_TEXTS.waiting, "Tea Shop"),
  );
  expect((await admin.get(admin.home)).text).toContain("launch on 1 December");
  const approved = await admin.act({ action: "approve_credential", note: "as agreed" });
  expect(approved.html).toContain('name="action" value="revoke_credential"');
  const opened = await admin.act({ action: "open_gate", note: "" });
  const { gate, open, credential, notApproved, closed: shut } = COMMON_TEXTS;
  expect(opened.text).toContain(`${english(gate)} ${english(open)}`);
  expect((await merchant.get(`${merchant.home}/launch`)).text).toContain(english(LAUNCH_TEXTS.nothingLeft));
  const closed = await admin.act({ action: "revoke_credential" });
  expect(closed.text).toContain([credential, notApproved, gate, shut].map(english).join(" "));
  const { stdout } = await harness.run(["admin", "log", "--json"]);
  const { acts } = JSON.parse(stdout) as { acts: { actor: string; action: string; note: string | null }[] };
  expect(acts.map(({ actor, action, note }) => [actor, action, note])).toEqual([
    ["merchant", "request_production", "launch on 1 December"],
    ["administrator", "approve_credential", "as agreed"],
    ["administrator", "open_gate", null],
    ["administrator", "revoke_credential", null],
  ]);
});

test("the administrator can approve prices, enable and disable capabilities, and activate and deactivate the store", async () => {
  const { harness, admin, merchant } = await openAdmin();
  const terms = ["--amount-minor", "700", "--currency", "EUR", "--payment-method", "alipay_plus"];
  await harness.run(["prices", "add", "oolong", ...terms, "--unapproved"]);
  expect((await admin.get("/portal/admin")).text).toMatch(
    new RegExp(`${english(COMMON_TEXTS.closed)} 1( |$)`),
  );
  await admin.act({ action: "approve_price", subject: "oolong" });
  expect((await merchant.get(`${merchant.home}/catalog`)).text).toContain(
    `oolong €7.00 700 alipay_plus ${english(COMMON_TEXTS.approved)}`,
  );
  const subject = 'value="oolong"';
  expect((await admin.get(admin.home)).html).toContain(subject);
  await harness.run(["prices", "retire", "oolong"]);
  expect((await admin.get(admin.home)).html).not.toContain(subject);
  await admin.act({ action: "revoke_price", subject: "oolong" });
  await admin.act({ action: "disable_capability", subject: "wechat_pay" });
  await admin.act({ action: "enable_capability", subject: "gbp" });
  const settings = await merchant.get(`${merchant.home}/settings`);
  const { active, inactive, state } = COMMON_TEXTS;
  expect(settings.text).toContain(`wechat_pay ${english(inactive)}`);
  expect(settings.text).toContain("GBP");
  await admin.act({ action: "deactivate", note: "closed for a day" });
  expect(settings.text).toContain(`${english(state)} ${english(active)}`);
  expect((await merchant.get(`${merchant.home}/settings`)).text).toContain(
    `${english(state)} ${english(inactive)}`,
  );
  const { text } = await admin.act({ action: "activate" });
  const actor = english(ADMIN_TEXTS.administrator);
  expect(text).toMatch(inOrder(`${actor} activate`, `${actor} deactivate`, "closed for a day"));
  for (const [fields, status] of [
    [{ action: "activate" }, 409],
    [{ action: "request_production" }, 400],
    [{ action: "enable_capability", subject: "doubloons" }, 404],
    [{ action: "enable_capability" }, 400],
    [{ action: "approve_price", subject: "nothing" }, 404],
  ] as const)
    expect([fields, (await admin.post(`${admin.home}/acts`, fields)).status]).toEqual([fields, status]);
});

test("opening the gate, deactivating the store, disabling a capability and revoking a price each need a confirmation that describes the effect", async () => {
  const { admin } = await openAdmin();
  const { html } = await admin.get(admin.home);
  const questions = [...html.matchAll(/<details class="asked" *>(.*?)<\/details>/gs)].map(([, asked = ""]) =>
    textOf(asked),
  );
  const { open_gate, deactivate, disable_capability, revoke_price } = ADMIN_TEXTS.questions;
  for (const question of [open_gate, deactivate, disable_capability, revoke_price])
    expect(questions).toContainEqual(expect.stringContaining(english(question)));
});

test("the merchant and the administrator can neither open each other's pages nor perform each other's actions", async () => {
  const { sandbox, merchant, admin, harness } = await openAdmin();
  // The address of the administrator's pages cannot be guessed, so a merchant's page links to their sign-in.
  expect((await merchant.get(`${merchant.home}/connect`)).html).toContain('<a href="/portal/admin">');
  for (const path of ["/portal/admin", admin.home]) {
    const { status, text } = await merchant.get(path);
    expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    expect(text).not.toContain(english(ADMIN_TEXTS.log));
  }
  const acted = await merchant.post(`${admin.home}/acts`, { action: "approve_credential" });
  expect(acted.status).toBeGreaterThanOrEqual(400);
  for (const path of ["/connect", "/keys", "/launch"])
    expect((await admin.get(`${merchant.home}${path}`)).status).toBeGreaterThanOrEqual(400);
  const key = await admin.post(`${merchant.home}/keys`, {});
  expect([key.status >= 400, key.location]).toEqual([true, undefined]);
  const { stdout } = await harness.run(["admin", "log", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ acts: [] });
  expect((await askPortal(sandbox, { path: "/portal/admin", headers: { Host: merchant.host } })).status).toBe(
    401,
  );
});

test("the administrator's pages show no secret, and notes are escaped", async () => {
  const { harness, sandbox, admin } = await openAdmin();
  const token = harness.adminToken();
  const page = await admin.act({
    action: "deactivate",
    note: "<script>alert(1)</script> svc_test_" + "0".repeat(33),
  });
  expect(page.html).not.toContain("<script>alert");
  expect(page.html).not.toContain("0".repeat(33));
  for (const path of ["/portal/admin", admin.home])
    for (const secret of [sandbox.ready.api_key ?? "", sandbox.ready.signing_secret, token])
      expect((await admin.get(path)).html).not.toContain(secret);
});
