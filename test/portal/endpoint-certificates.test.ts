import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { WEBHOOK_TEXTS } from "../../src/sandbox/pages/portal/webhook/texts.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";

const URL = "https://localhost:3000/hooks";

test("the endpoint form accepts only CA certificates in PEM, and the endpoint's page shows their subjects", async () => {
  const harness = createHarness();
  const portal = await signedIn(harness, await harness.start(EPHEMERAL));
  const form = `${portal.home}/webhooks/endpoints`;

  const refused = await portal.post(form, { url: URL, ca: CERTIFICATE_KEY });
  expect(refused.text).toMatch(refusalText("ca_with_private_key"));
  expect(refused.html).toMatch(/<textarea[^>]*aria-invalid="true"/);
  expect((await portal.post(form, { url: URL, ca: "certs/root.pem" })).text).toMatch(
    refusalText("ca_not_pem"),
  );
  expect((await portal.post(form, { url: "http://localhost:3000/", ca: CERTIFICATE })).text).toMatch(
    refusalText("ca_without_https"),
  );

  // A browser sends the lines of a text with CR LF.
  const page = await portal.act(form, { url: URL, ca: CERTIFICATE.replaceAll("\n", "\r\n") });
  expect(page.text).toMatch(inOrder(WEBHOOK_TEXTS.ca, /CN=\S+/));
  expect((await harness.run(["endpoints", "list", "--json"])).stdout).toContain(
    "-----BEGIN CERTIFICATE-----",
  );
  expect((await portal.act(form, { url: "https://localhost:3001/hooks", ca: "" })).text).not.toContain(
    english(WEBHOOK_TEXTS.ca),
  );
});
