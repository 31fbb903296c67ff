import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { createHarness, type FullAnswer, type RunningSandbox } from "../support/harness.ts";
import { askPortal, portalHost, signIn } from "../support/portal-sign-in.ts";
import { textOf } from "../support/portal.ts";

/** A folder of the previous version with a snapshot, and the stories that it showed. */
type Previous = {
  /** The files of the state folder in base64, by their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly explained: Readonly<Record<string, object>>;
  readonly endpoints: { readonly endpoints: readonly { readonly reason: string | null }[] };
  /** The sections of each request's page, and the reason on each endpoint's page, by language and path. */
  readonly pages: Readonly<Record<string, readonly string[]>>;
  readonly states: Readonly<Record<string, readonly string[]>>;
};

const PREVIOUS = unpack("previous-version") as Previous;
/** Another folder of the previous version, with a snapshot: orders with accepted, failed and dropped deliveries. */
const DELIVERIES = unpack("previous-deliveries") as Pick<Previous, "files" | "explained">;
/** Fields of an explanation that are texts of this version; only the golden file compares them. */
const TEXTS = new Set(["summary", "check", "expected", "text", "reason"]);
/** The end of a section: rules and decisions, whose words may change. */
const AFTER_PARTS = / (?:Rule|Decision|Help|接口规则|本沙箱约定|解决办法) .*$/s;

test("a folder and a snapshot of the previous version show the same stories in both languages", async () => {
  const { harness, sandbox } = await openFolder(PREVIOUS);
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
    return String((await pageIn(sandbox, { cookie, language, path })).body);
  };
  for (const place of Object.keys(PREVIOUS.pages)) {
    const [, why = ""] = /(<section>.*?<\/section>)/s.exec(await pageAt(place)) ?? [];
    told[place] = textOf(why).replace(AFTER_PARTS, "");
  }
  const checkEndpoints = async (): Promise<void> => {
    const { endpoints } = (await harness.ask(["endpoints", "list"])) as unknown as Previous["endpoints"];
    expect(withoutTexts(endpoints)).toMatchObject(withoutTexts(PREVIOUS.endpoints.endpoints) as object[]);
    const reasons = endpoints.map(({ reason }) => reason);
    expect(reasons).toEqual((told["endpoints"] ??= reasons));
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

test("a folder and a snapshot of the previous version show the same stories of deliveries in both languages", async () => {
  const { harness, sandbox } = await openFolder(DELIVERIES);
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const told: Record<string, readonly string[]> = {};
  const checkStories = async (): Promise<void> => {
    for (const [id, before] of Object.entries(DELIVERIES.explained)) {
      const explained = await harness.ask(["explain", id]);
      expect(withoutTexts(explained)).toEqual(withoutTexts({ ...before, fact: null }));
    }
    const { headers } = await pageIn(sandbox, { cookie, language: "en", path: "/find?q=order-1" });
    const path = String(headers["Location"]).split(sandbox.ready.store_id)[1] ?? "";
    for (const language of ["en", "zh-CN"]) {
      const { body } = await pageIn(sandbox, { cookie, language, path });
      const [story = ""] = /<ol class="story".*?<\/section>/s.exec(String(body)) ?? [];
      const lines = story
        .replaceAll(/<pre.*?<\/pre>/gs, "")
        .split("</li>")
        .map(textOf);
      expect([language, lines]).toEqual([language, (told[language] ??= lines)]);
    }
  };
  await checkStories();
  await harness.ask(["snapshots", "restore", "before", "--trust", "--adopt"]);
  await checkStories();
  await expect(`${JSON.stringify(told, null, 2)}\n`).toMatchFileSnapshot("previous-deliveries.golden.txt");
});

function unpack(name: string): unknown {
  const packed = readFileSync(join(import.meta.dirname, `../../fixtures/${name}.json.br`));
  return JSON.parse(brotliDecompressSync(packed).toString());
}

/** Starts a sandbox in a folder with these files. */
async function openFolder({ files }: Pick<Previous, "files">) {
  const harness = createHarness();
  for (const [name, content] of Object.entries(files)) {
    const path = join(harness.cwd, ".checkout", name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, Buffer.from(content, "base64"), { mode: 0o600 });
  }
  return { harness, sandbox: await harness.start(["--port", "0", "--adopt"]) };
}

/** A page of the store in a language. */
function pageIn(
  sandbox: RunningSandbox,
  { cookie, language, path }: { readonly cookie: string; readonly language: string; readonly path: string },
): Promise<FullAnswer> {
  const headers = {
    Authorization: "",
    Host: portalHost(sandbox),
    Cookie: cookie,
    "Accept-Language": language,
  };
  return askPortal(sandbox, { path: `/portal/${sandbox.ready.store_id}${path}`, headers });
}

function withoutTexts(told: unknown): unknown {
  return JSON.parse(JSON.stringify(told), (key, value: unknown) => (TEXTS.has(key) ? undefined : value));
}
