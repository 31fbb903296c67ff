import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";
import { askPortal, portalHost, signIn } from "../support/portal-sign-in.ts";
import { textOf } from "../support/portal.ts";

/** A folder of the previous version with a snapshot, and the stories that it showed. */
type Previous = {
  /** The files of the state folder in base64, by their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly explained: Readonly<Record<string, object>>;
  readonly endpoints: { readonly endpoints: readonly object[] };
  /** The sections of each request's page, and the reason on each endpoint's page, by language and path. */
  readonly pages: Readonly<Record<string, readonly string[]>>;
  readonly states: Readonly<Record<string, readonly string[]>>;
};

const PACKED = join(import.meta.dirname, "../../fixtures/previous-version.json.br");
const PREVIOUS = JSON.parse(brotliDecompressSync(readFileSync(PACKED)).toString()) as Previous;
/** Fields of an explanation that are texts of this version; only the golden file compares them. */
const TEXTS = new Set(["summary", "check", "expected", "text"]);
/** The end of a section: rules and decisions, whose words may change. */
const AFTER_PARTS = / (?:Rule|Decision|Help|接口规则|本沙箱约定|解决办法) .*$/s;

test("a folder and a snapshot of the previous version show the same stories in both languages", async () => {
  const harness = createHarness();
  for (const [name, content] of Object.entries(PREVIOUS.files)) {
    const path = join(harness.cwd, ".checkout", name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, Buffer.from(content, "base64"), { mode: 0o600 });
  }
  const sandbox = await harness.start(["--port", "0", "--adopt"]);
  const json = (...words: string[]) => harness.ask(words);
  const told: Record<string, unknown> = {};
  for (const [id, before] of Object.entries(PREVIOUS.explained)) {
    const explained = await json("explain", id);
    expect(withoutTexts(explained)).toEqual(withoutTexts({ ...before, fact: null }));
    told[id] = explained;
  }
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const pageAt = async (place: string): Promise<string> => {
    const [language = "", path = ""] = place.split(" ");
    const headers = {
      Authorization: "",
      Host: portalHost(sandbox),
      Cookie: cookie,
      "Accept-Language": language,
    };
    const address = `/portal/${sandbox.ready.store_id}${path}`;
    return String((await askPortal(sandbox, { path: address, headers })).body);
  };
  for (const place of Object.keys(PREVIOUS.pages)) {
    const [, why = ""] = /(<section>.*?<\/section>)/s.exec(await pageAt(place)) ?? [];
    told[place] = textOf(why).replace(AFTER_PARTS, "");
  }
  const checkEndpoints = async (): Promise<void> => {
    expect((await json("endpoints", "list"))["endpoints"]).toMatchObject(PREVIOUS.endpoints.endpoints);
    for (const place of Object.keys(PREVIOUS.states)) {
      const found = [...(await pageAt(place)).matchAll(/<span class="hint why">.*?<\/span>/gs)];
      const said = found.map(([html]) => textOf(html));
      expect([place, said]).toEqual([place, (told[place] ??= said)]);
    }
  };
  await checkEndpoints();
  await json("snapshots", "restore", "before", "--trust", "--adopt");
  await checkEndpoints();
  await expect(`${JSON.stringify(told, null, 2)}\n`).toMatchFileSnapshot("previous-version.golden.txt");
});

function withoutTexts(told: unknown): unknown {
  return JSON.parse(JSON.stringify(told), (key, value: unknown) => (TEXTS.has(key) ? undefined : value));
}
