import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OutboundRequest } from "../../src/world.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { createHarness } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

const SECURE = "https://localhost:3000/hooks";

/** A harness with certificate files that records the requests of its sandbox to receivers. */
function open() {
  const harness = createHarness();
  const sent: OutboundRequest[] = [];
  harness.setFault((request, pass) => {
    if (!request.url.startsWith("https:")) return pass();
    sent.push(request);
    return Promise.resolve({ ok: true, status: 204, headers: {}, body: "", address: "127.0.0.1" });
  });
  writeFileSync(join(harness.cwd, "root.pem"), CERTIFICATE);
  writeFileSync(join(harness.cwd, "other.pem"), `# another\n${CERTIFICATE}`);
  writeFileSync(join(harness.cwd, "key.pem"), CERTIFICATE_KEY);
  writeFileSync(join(harness.cwd, "both.pem"), CERTIFICATE + CERTIFICATE_KEY);
  writeFileSync(join(harness.cwd, "text.txt"), "root.pem");
  writeFileSync(join(harness.cwd, "empty.pem"), "");
  mkdirSync(join(harness.cwd, "folder.pem"));
  return { harness, sent };
}

const UNREADABLE = ["nothing.pem", "folder.pem", "text.txt", "empty.pem", "key.pem"];

test("a start refuses a --ca file without certificates, and says what the file must contain", async () => {
  const { harness } = open();
  for (const file of UNREADABLE) {
    const { code, stderr } = await harness.run(["sandbox", "start", "--ca", file]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(inOrder(` ${file}`, "-----BEGIN CERTIFICATE-----")),
    ]);
  }
});

test("the refusal of a --ca file names the option, the variable and the configuration field", async () => {
  const { harness } = open();
  const refused = async (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    (await harness.run(["sandbox", "start", ...words], { env })).stderr;
  const given = [
    await refused(["--ca", "nothing.pem"]),
    await refused([], { CHECKOUT_SANDBOX_CA: "nothing.pem" }),
  ];
  writeFileSync(join(harness.cwd, "checkout.config.json"), '{"sandbox":{"ca":"nothing.pem"}}');
  given.push(await refused([]));
  for (const stderr of given) {
    expect(stderr).toMatch(
      inOrder(/^✗ .* ca .* nothing\.pem/, "  → ", "--ca", "CHECKOUT_SANDBOX_CA", "sandbox.ca"),
    );
  }
});

test("an endpoint trusts the certificates of its own --ca, otherwise the certificates of the sandbox", async () => {
  const { harness, sent } = open();
  await harness.start(["--ca", "root.pem"]);
  const add = async (url: string, ...more: string[]) =>
    harness.run(["endpoints", "add", url, "--json", ...more]);
  expect(JSON.parse((await add(SECURE)).stdout)).toMatchObject({ ca: null });
  const own = await add("https://localhost:3001/hooks", "--ca", "other.pem");
  expect(JSON.parse(own.stdout)).toMatchObject({ ca: `# another\n${CERTIFICATE}` });
  const status = await harness.run(["sandbox", "status", "--json"]);
  expect(status.stdout).toContain('"ca":"root.pem"');

  const { endpoints } = JSON.parse((await harness.run(["endpoints", "list", "--json"])).stdout) as {
    endpoints: { id: string }[];
  };
  for (const { id } of endpoints) {
    const tested = await harness.run(["endpoints", "test", id, "--wait"]);
    expect([tested.code, tested.stderr]).toEqual([0, ""]);
  }
  expect(sent.map(({ url, tls }) => [url, tls])).toEqual([
    [SECURE, { ca: CERTIFICATE }],
    ["https://localhost:3001/hooks", { ca: `# another\n${CERTIFICATE}` }],
  ]);
});

test("endpoints add refuses a certificate file that cannot be used, and certificates for an http address", async () => {
  const { harness } = open();
  await harness.start();
  for (const file of [...UNREADABLE, "both.pem"]) {
    const { code, stderr } = await harness.run(["endpoints", "add", SECURE, "--ca", file]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(file)]);
    if (file === "both.pem") expect(stderr).toContain(refusalMessage("ca_with_private_key"));
  }
  const plain = await harness.run(["endpoints", "add", "http://localhost:3000/", "--ca", "root.pem"]);
  expect([plain.code, plain.stderr]).toEqual([
    2,
    expect.stringContaining(refusalMessage("ca_without_https")),
  ]);
  expect((await harness.run(["endpoints", "list", "--json"])).stdout).toContain('"endpoints":[]');
});

test("a second endpoints add suggests config apply, which changes the certificates and keeps waiting deliveries", async () => {
  const { harness } = open();
  await harness.start();
  const run = (line: string) => harness.run(line.split(" "));
  const { id } = JSON.parse((await run(`endpoints add ${SECURE} --ca root.pem --json`)).stdout) as {
    id: string;
  };
  await run(`endpoints pause ${id}`);
  await run("orders create --order-id order-1 --price-id price_coffee");
  const again = await run(`endpoints add ${SECURE} --ca other.pem`);
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining("checkout config apply")]);
  const { stdout } = await run("config export");
  const file = join(harness.cwd, "checkout.config.json");
  writeFileSync(join(harness.cwd, "both.pem"), CERTIFICATE + CERTIFICATE);
  writeFileSync(file, stdout.replace(/("ca": ?)"[^"]*"/, '$1"both.pem"'));
  expect((await run("config apply")).code).toBe(0);
  const { endpoints } = JSON.parse((await run("endpoints list --json")).stdout) as { endpoints: object[] };
  expect(endpoints).toMatchObject([{ id, ca: CERTIFICATE + CERTIFICATE }]);
  const { deliveries } = JSON.parse((await run("deliveries list --json")).stdout) as { deliveries: object[] };
  expect(deliveries).toMatchObject([{ state: "due" }]);
});

test("a configuration file names an endpoint's certificate file, and config export prints the certificates", async () => {
  const { harness } = open();
  const file = join(harness.cwd, "checkout.config.json");
  const write = (ca: string, url = SECURE): void =>
    writeFileSync(
      file,
      JSON.stringify({
        stores: [{ id: "019bc186-de00-7000-8000-0000000000aa", name: "S", endpoints: [{ url, ca }] }],
      }),
    );
  await harness.start();
  for (const name of UNREADABLE) {
    write(name);
    const { code, stderr } = await harness.run(["config", "apply"]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(inOrder("endpoints[0].ca: ", name))]);
  }
  write("root.pem", "http://localhost:3000/");
  expect((await harness.run(["config", "apply"])).stderr).toContain(refusalMessage("ca_without_https"));
  write("root.pem");
  const applied = await harness.run(["config", "apply"]);
  expect([applied.code, applied.stderr]).toEqual([0, ""]);
  expect((await harness.run(["config", "diff"])).code).toBe(0);

  const exported = (await harness.run(["config", "export"])).stdout;
  expect(exported).toContain("-----BEGIN CERTIFICATE-----");
  writeFileSync(file, exported);
  expect((await harness.run(["config", "diff"])).code).toBe(0);
});
