import { expect, test } from "vitest";
import { createHarness, type Result } from "./support/harness.ts";
import { tempFolder } from "./support/temp-folder.ts";

/** A command line of somebody's first hour: its exit code, and what it says, on stdout where that is 0. */
type Row = readonly [line: string, code: number, says: RegExp];

/** Ids that a row names by these words; a short one is the last 8 characters. */
type Ids = Readonly<Record<string, string>>;

/** What is typed before there is a sandbox, and where none is needed. */
const WITHOUT_SANDBOX: readonly Row[] = [
  // Help and version, however they are asked for.
  ["help", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["--help", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["-h", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["help help", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["help orders", 0, /^Usage: checkout orders \[options\] \[command\]\n/],
  ["orders help", 0, /^Usage: checkout orders \[options\] \[command\]\n/],
  ["orders --help", 0, /^Usage: checkout orders \[options\] \[command\]\n/],
  ["help orders create", 0, /^Usage: checkout orders create \[options\]\n/],
  ["orders help create", 0, /^Usage: checkout orders create \[options\]\n/],
  ["orders create --help", 0, /^Usage: checkout orders create \[options\]\n/],
  ["orders create -h", 0, /^Usage: checkout orders create \[options\]\n/],
  ["--help orders create", 0, /^Usage: checkout orders create \[options\]\n/],
  ["help sandbox clock advance", 0, /^Usage: checkout sandbox clock advance /],
  ["sandbox help clock", 0, /^Usage: checkout sandbox clock /],
  ["help checklist", 0, /^Usage: checkout checklist /],
  ["help checklist run webhooks", 0, /^Usage: checkout checklist run webhooks /],
  ["help listen", 0, /^Usage: checkout listen /],
  ["help exec", 0, /^Usage: checkout exec /],
  ["help nonsense", 2, /unknown command 'nonsense'/],
  ["nonsense --help", 2, /unknown command 'nonsense'/],
  ["orders nonsense --help", 2, /unknown command 'nonsense'/],
  ["--version", 0, /^\d+\.\d+\.\d+\n$/],
  ["-v", 0, /^\d+\.\d+\.\d+\n$/],
  ["-V", 0, /^\d+\.\d+\.\d+\n$/],
  ["version", 0, /^\d+\.\d+\.\d+\n$/],
];

test("each command line of a first hour without a sandbox says what to do, on the right stream", async () => {
  expect(await wrongRows(WITHOUT_SANDBOX, async () => ({ run: createHarness().run, ids: {} }))).toEqual([]);
});

test("what belongs to every command is also taken before it, and between its words", async () => {
  const harness = createHarness();
  await harness.start();
  const cwd = tempFolder();
  const shown = async (line: string): Promise<Result> => harness.run(line.split(" "), { cwd });
  const folder = `${harness.cwd}/.checkout`;
  const usual = await shown(`orders list --json --dir ${folder}`);
  expect([usual.code, usual.stdout]).toEqual([0, '{"checkouts":[],"next_before":null,"searched":null}\n']);
  for (const line of [
    `--json --dir ${folder} orders list`,
    `--dir ${folder} orders --json list`,
    `--dir=${folder} orders list --json`,
    `orders --dir ${folder} list --json`,
    `--no-color --trust-folder --json orders --dir ${folder} list`,
  ])
    expect([line, await shown(line)]).toEqual([line, usual]);
  const passed = await harness.run(["--json", "--no-color", "exec", "--", "printenv", "--json"]);
  expect(harness.programs.at(-1)?.args).toEqual(["--json"]);
  expect(passed.stderr).toMatch(/^\{"ok":false/);
  for (const line of ["--json", "--json orders", "orders --json", "--json nonsense", "--dir"])
    expect([line, (await shown(line)).code]).toEqual([line, 2]);
  for (const line of ["--json", "--json orders", "--json orders nonsense", "--foo --json"])
    expect(JSON.parse((await shown(line)).stderr)).toMatchObject({ ok: false, error: { code: "usage" } });
});

test("--no-color, NO_COLOR and TERM=dumb give no escape codes", async () => {
  const harness = createHarness();
  await harness.start();
  const lines = [
    "orders create --order-id o-1 --price-id price_coffee",
    "orders create",
    "nonsense",
    "checklist",
  ];
  const escapes = async (line: string, env: Record<string, string> = {}): Promise<boolean> => {
    const { stdout, stderr } = await harness.run(line.split(" "), { terminal: true, env });
    return (stdout + stderr).includes("\u001b[");
  };
  expect(await escapes("checklist")).toBe(true);
  for (const line of lines) {
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { NO_COLOR: "1", FORCE_COLOR: "1" }])
      expect([line, env, await escapes(line, env)]).toEqual([line, env, false]);
    for (const typed of [`--no-color ${line}`, `${line} --no-color`])
      expect([typed, await escapes(typed, { FORCE_COLOR: "1" })]).toEqual([typed, false]);
  }
});

/** Where rows are typed. */
type Scene = { readonly run: (argv: readonly string[]) => Promise<Result>; readonly ids: Ids };

/** The rows that say another thing, or not as a program reads it, in one scene for people and another one for JSON. */
async function wrongRows(rows: readonly Row[], open: () => Promise<Scene>): Promise<readonly object[]> {
  const [people, programs] = [await open(), await open()];
  const type = (line: string, { run, ids }: Scene, ...before: string[]): Promise<Result> =>
    run([...before, ...line.split(" ").map((word) => ids[word] ?? word.replaceAll("␣", " "))]);
  const wrong: object[] = [];
  for (const [line, code, says] of rows) {
    const shown = await type(line, people);
    if (shown.code !== code || !says.test(said(shown)) || silent(shown) !== "") wrong.push({ line, shown });
    const json = await type(line, programs, "--json");
    if (!isJsonOf(json, { code, says })) wrong.push({ line: `--json ${line}`, json });
  }
  return wrong;
}

/** The stream that the result is on: an error is on stderr, and then nothing on stdout. */
function said({ code, stdout, stderr }: Result): string {
  return code === 0 ? stdout : stderr;
}

function silent({ code, stdout, stderr }: Result): string {
  return code === 0 ? stderr : stdout;
}

/** Whether one line of JSON says the same; help is text for programs, too. */
function isJsonOf(result: Result, { code, says }: { readonly code: number; readonly says: RegExp }): boolean {
  const text = said(result);
  if (result.code !== code || silent(result) !== "") return false;
  if (text.startsWith("Usage: ")) return code === 0 && says.test(text);
  if (!/^\{.*\}\n$|^\[.*\]\n$/.test(text)) return false;
  const told = JSON.parse(text) as {
    ok?: boolean;
    error?: { message: string };
    next?: string;
    exit_code?: number;
  };
  if (code === 0) return told.error === undefined;
  if (told.ok !== false || told.exit_code !== code || !told.next) return false;
  return says.test(`✗ ${told.error?.message ?? ""}\n  → ${told.next}`);
}
