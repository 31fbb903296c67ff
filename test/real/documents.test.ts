import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { blocksIn, PAGES } from "../support/documents.ts";
import { listenUntilEnd } from "../support/http-receiver.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness } from "../support/harness.ts";
import {
  launch,
  PROGRAM,
  run,
  runHere,
  startSandbox,
  startSandboxHere,
  type SandboxHere,
} from "../support/program.ts";
import { heldPort } from "../support/ports.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");

type Step = { readonly command: string; readonly shown: string };

const CALLED_BY_NPX = { npm_command: "exec" };
const START = "npx checkout sandbox start";
const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const BACKGROUND = /^npx checkout (env|sandbox (start --detach|wait|status|stop))$/;
/** A command of this program alone, without a shell: its variable, its words and the file that it writes. */
const OF_PROGRAM =
  /^(?:(CHECKOUT_\w+)=(\S+) )?npx checkout (?!exec)((?:[\w:/.~-]+|'[^']*'| )+?)(?: > (\S+))?$/;

/** The pages with output of commands; each page is complete, so each has its own sandbox. */
const TRANSCRIPTS = PAGES.map(({ name, text }) => ({ name, text, steps: transcript(text) })).filter(
  ({ steps }) => steps.length > 0,
);

test.for(TRANSCRIPTS)(
  "the program prints exactly the transcripts on the page $name",
  async ({ name, text, steps }) => {
    const cwd = tempFolder();
    // Commands of README.md are typed into a shell. On other pages, most commands of this program run in this process.
    const isTyped = name === "README.md";
    const sandbox = await (isTyped ? startSandbox : startSandboxHere)({ cwd });
    const background = tempFolder();
    const ids = new Map<string, string>();
    for (const { command, shown } of steps) {
      // The page shows the configuration file after the start, because a start would apply the file.
      if (command.includes("config validate"))
        writeFileSync(join(cwd, "checkout.config.json"), configShown(text));
      const typed = command
        .replaceAll(UUIDS, (id) => ids.get(id) ?? id)
        .replaceAll("127.0.0.1:4242", `127.0.0.1:${sandbox.port}`);
      // A command about another service runs in a folder without a sandbox.
      const folder = command.startsWith("CHECKOUT_BASE_URL=") ? tempFolder() : cwd;
      const printed = BACKGROUND.test(command)
        ? await runInBackground(command, background)
        : command.startsWith(START)
          ? await printedAtStart(command, tempFolder())
          : !isTyped && OF_PROGRAM.test(typed)
            ? await executeHere(typed, folder)
            : await execute(typed, sandbox, folder);
      expect([command, normalise(printed, cwd)]).toEqual([command, normalise(shown, cwd)]);
      const own = printed.match(UUIDS) ?? [];
      for (const [at, id] of (shown.match(UUIDS) ?? []).entries()) ids.set(id, own[at] ?? id);
    }
    if (existsSync(join(background, ".checkout")))
      expect((await runHere(["sandbox", "status"], { cwd: background })).code).toBe(7);
  },
);

test("the documentation has at least two transcripts, and at least eight commands in all transcripts", () => {
  const steps = TRANSCRIPTS.flatMap((page) => page.steps);
  expect([TRANSCRIPTS.length >= 2, steps.length >= 8]).toEqual([true, true]);
});

/** The first lines of the pages' shell blocks, each with the test that runs it. Blocks for a clone are not run. */
const SHELL_BLOCKS = [
  ["npm ci\nnpx checkout sandbox start", "a clone"],
  ["npx checkout endpoints add", "run by readiness.test.ts"],
  ["# launch.sh", "run by readiness.test.ts"],
  ["npx checkout shop init", "run by shop.test.ts"],
  ["npm install --no-save ./vendor/", "a packed package, installed by kit.test.ts"],
  ["npx checkout sandbox start --detach --listen", "run here"],
  ["export CHECKOUT_BASE_URL=http://box.example", "run here"],
  ["npx checkout sandbox start --detach", "run here"],
  ["npx checkout keys generate", "run here"],
  ["npx checkout tokens create", "run here"],
  ["npx checkout hosted dev", "run by hosted-dev.test.ts"],
  ["mkdir -m 700 backup", "run by failover.test.ts"],
  ["mkdir -m 700 -p backup", "run by hosted-dev.test.ts"],
  ["npx checkout explore", "run by explore.test.ts"],
  ["git bisect run sh -c 'npx checkout explore", "run here, for each exit code"],
  ["npm ci && npm test", "a clone"],
] as const;

/** The shell block with this beginning, with this program instead of the installed package. */
function shellBlock(beginning: (typeof SHELL_BLOCKS)[number][0]): string {
  const shown =
    blocksIn("sh").find(({ code }) =>
      code.startsWith(`${beginning}${beginning.endsWith("--detach") ? "\n" : ""}`),
    )?.code ?? "";
  return shown.trimEnd().replaceAll("npx checkout", `"${process.execPath}" "${PROGRAM}"`);
}

test("the documented git bisect command passes explore's exit code on, and skips a commit that explore cannot judge", async () => {
  const [, script = ""] = /sh -c '(.*)'/.exec(shellBlock("git bisect run sh -c 'npx checkout explore")) ?? [];
  expect(script).toContain("explore --seed");
  for (const [code, passedOn] of [
    [0, 0],
    [1, 1],
    [3, 125],
    [7, 125],
  ]) {
    const stub = script.replace(/^.*?; code/, `(exit ${code}); code`);
    const ended = await promisify(execFile)("sh", ["-c", stub]).then(
      () => 0,
      (error: unknown) => (error as { readonly code: number }).code,
    );
    expect([code, ended]).toEqual([code, passedOn]);
  }
});

test("every shell block of the documentation is listed with the test that runs it, and every listed block exists", () => {
  const unknown = blocksIn("sh").filter(({ code }) => !SHELL_BLOCKS.some(([head]) => code.startsWith(head)));
  expect(unknown).toEqual([]);
  expect(SHELL_BLOCKS.filter(([head]) => shellBlock(head) === "")).toEqual([]);
});

test("the CI script of the documents creates orders, moves the clock, reads events, and leaves nothing running", async () => {
  const cwd = tempFolder();
  // The lines after the variables work in any folder.
  const script = shellBlock("npx checkout sandbox start --detach").replace(
    /^(eval .*)$/m,
    `$1\ncd "${tempFolder()}"`,
  );
  const leave = `cd "${cwd}" && `;
  const env = { PATH: process.env["PATH"] ?? "", CHECKOUT_SANDBOX_PORT: "0" };
  const { stdout } = await promisify(execFile)("sh", ["-ec", script.replace("trap '", `trap '${leave}`)], {
    cwd,
    env,
  });
  expect(stdout).toMatch(/order-2001~succeeded\n.*\n.*\bsucceeded\n/);
  expect(stdout).toMatch(/order-2002 +created → expired/);
  expect(stdout).toMatch(/Z +order\.expired +order-2002/);
  expect(stdout).toMatch(/"type":"order\.expired"/);
  expect((await run(["sandbox", "status"], { cwd })).code).toBe(7);
});

/** A part of the results that the last filters of docs/json.md read. */
const RUN = {
  items: [{ part: "duplicates", verdict: "failed" }],
  broken: [{ history: "event_twice", cause: "booked twice" }],
};
const ENDED = "2026-11-21T10:52:33.496Z";
const DELIVERIES = {
  deliveries: [
    { id: "refused", attempts: [500, 200].map((status) => ({ finished_at: ENDED, status })) },
    { id: "unanswered", attempts: [{ finished_at: ENDED, status: null }] },
    { id: "accepted", attempts: [{ finished_at: ENDED, status: 204 }] },
    { id: "running", attempts: [{ finished_at: null, status: null }] },
  ],
};

test("the jq lines of docs/json.md print the expected output, and jq accepts every filter in the table of the page", async ({
  annotate,
}) => {
  const page = readFileSync(join(ROOT, "docs/json.md"), "utf8");
  const [, script = ""] = /```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const filters = Array.from(page.matchAll(/`jq -r '([^`]+)'`/g), ([, filter = ""]) =>
    filter.replaceAll("\\|", "|"),
  );
  expect(filters.length).toBeGreaterThan(60);
  const folder = tempFolder();
  const hasJq = await promisify(execFile)("jq", ["--version"]).then(
    () => true,
    () => false,
  );
  if (hasJq) {
    const program = filters.map((filter, at) => `def f${at}: ${filter};`).join(" ");
    await promisify(execFile)("jq", ["-n", `${program} empty`]);
    const values = JSON.stringify({ ok: false, ...RUN, ...DELIVERIES });
    const last = filters
      .slice(-4)
      .map((filter) => ["-c", 'printf %s "$1" | jq -r "$2"', "sh", values, filter]);
    const shown = await Promise.all(last.map((typed) => promisify(execFile)("sh", typed)));
    expect(shown.map(({ stdout }) => stdout)).toEqual([
      "false\n",
      "duplicates\tfailed\n",
      "event_twice\tbooked twice\n",
      "refused\nunanswered\n",
    ]);
  } else {
    await annotate("jq is not installed: the part of jq in test/support/jq.ts runs the lines");
    const stand = `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "test/support/jq-here.ts")}" "$@"\n`;
    writeFileSync(join(folder, "jq"), stand, { mode: 0o755 });
  }
  const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  const typed = script.replaceAll("npx checkout", `"${process.execPath}" "${PROGRAM}"`);
  const { stdout } = await promisify(execFile)("sh", ["-c", typed], { cwd: folder, env });
  expect(stdout).toMatch(/^[0-9a-f-]{36}\nsucceeded\norder\.created\norder\.pending\norder\.succeeded\n$/);
});

test("the documented network settings start a sandbox with the generated secrets", async () => {
  const lines = shellBlock("npx checkout keys generate").split("\n");
  // `exec` replaces the shell with the sandbox, so that a signal reaches the sandbox.
  const script = [...lines.slice(0, -1), `exec ${lines.at(-1)} --json`].join("\n");
  const cwd = tempFolder();
  const sandbox = await launch(["-ec", script], { cwd, command: ["/bin/sh"] });
  const ready = JSON.parse(sandbox.output.stdout) as Readonly<Record<string, string>>;
  const generated = readFileSync(join(cwd, "sandbox.env"), "utf8");
  for (const secret of [ready["api_key"], ready["signing_secret"], ready["control_token"]])
    expect(generated).toContain(`=${secret}\n`);
  const created = await fetch(`${ready["base_url"]}/orders`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${ready["api_key"]}`,
      "Content-Type": "application/json",
      "Idempotency-Key": "the-key-of-the-order",
    },
    body: JSON.stringify({ order_id: "order-1", price_id: "price_coffee" }),
  });
  const { data } = (await created.json()) as { readonly data: { readonly checkout_url: string } };
  const [, publicUrl = "?"] = /--public-url (\S+)/.exec(lines.at(-1) ?? "") ?? [];
  expect([created.status, data.checkout_url]).toEqual([201, expect.stringContaining(`${publicUrl}/pay/`)]);
  expect(await sandbox.stop("SIGTERM")).toBe(0);
});

test("a team's sandbox gives two users on two addresses their own stores, pages and webhooks", async () => {
  const heard = { alice: [] as string[], bob: [] as string[] };
  const hooks = {
    alice: await receiverAt("127.0.0.5", heard.alice),
    bob: await receiverAt("127.0.0.6", heard.bob),
  };
  const port = await heldPort();
  const there = (text: string): string =>
    text
      .replaceAll("pay.box.example", "127.0.0.3")
      .replaceAll("portal.box.example", "127.0.0.4")
      .replaceAll("box.example", "127.0.0.2")
      .replaceAll("alice.example:3000", `127.0.0.5:${hooks.alice}`)
      .replaceAll("bob.example:3000", `127.0.0.6:${hooks.bob}`)
      .replaceAll("4242", String(port));
  const shell = async (
    script: string,
    cwd: string,
    own: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const env = { PATH: process.env["PATH"] ?? "", ...own };
    return (await promisify(execFile)("sh", ["-ec", there(script)], { cwd, env })).stdout;
  };
  const cwd = tempFolder();
  onTestFinished(async () => void (await runHere(["sandbox", "stop"], { cwd })));
  const box = shellBlock("npx checkout sandbox start --detach --listen");
  const printed = await shell(box, cwd, { CHECKOUT_SANDBOX_PORT: String(port) });
  const links = printed.match(/^http.*\/portal\/k-\S+$/gm) ?? [];
  expect(links).toEqual([1, 2].map(() => expect.stringContaining(there("http://portal.box.example:4242/"))));
  for (const link of links) expect((await fetch(link)).status).toBe(200);
  expect(await shell(shellBlock("npx checkout tokens create"), cwd, {})).toMatch(/\bsvc_store_/);
  const pages: string[] = [];
  for (const user of ["alice", "bob"] as const) {
    const name = user === "alice" ? "Alice" : "Bob";
    const { stdout } = await runHere(["env", "--store", name, "--format", "json"], { cwd });
    const variables = JSON.parse(stdout) as Readonly<Record<string, string>>;
    expect(printed).toContain(`CHECKOUT_API_KEY=${variables["CHECKOUT_API_KEY"]}`);
    const script = shellBlock("export CHECKOUT_BASE_URL=http://box.example");
    const shown = await shell(script, tempFolder(), variables);
    const page = /checkout_url +(\S+)/.exec(shown)?.[1] ?? "";
    expect([page, (await fetch(page)).status]).toEqual([
      expect.stringContaining(there("http://pay.box.example:4242/pay/")),
      200,
    ]);
    await eventually("the user's own receiver hears of it", async () =>
      expect(heard[user]).toEqual(["order.created"]),
    );
    pages.push(page);
  }
  expect([heard, new Set(pages).size]).toEqual([{ alice: ["order.created"], bob: ["order.created"] }, 2]);
});

test("sandbox start --listen without --public-url keeps 127.0.0.1 as the origin of checkout_url", async () => {
  const sandbox = await startSandboxHere({
    cwd: tempFolder(),
    args: ["--listen", "0.0.0.0", "--allow-host", "box.example"],
  });
  expect(sandbox.ready.checkout_origin).toBe(`http://127.0.0.1:${sandbox.port}`);
});

/** Starts a user's receiver, which adds the types of its events to `types`; returns its port. */
async function receiverAt(address: string, types: string[]): Promise<number> {
  const server = createServer((request, response) => {
    void request.toArray().then((chunks: readonly Buffer[]) => {
      types.push((JSON.parse(Buffer.concat(chunks).toString()) as { readonly type: string }).type);
      response.writeHead(204).end();
    });
  });
  onTestFinished(() => void server.close());
  return listenUntilEnd(server, address);
}

type CommandMap = { readonly commands: readonly (CommandMap & { readonly name: string })[] };

/** The words of each command that has no commands of its own. */
function pathsOf({ commands }: CommandMap): readonly string[] {
  return commands.flatMap((command) => {
    const below = pathsOf(command);
    return (below.length === 0 ? [""] : below).map((path) => ` ${command.name}${path}`);
  });
}

test("the package's commands page has every command, and the maintainers' page has every npm script that people type", async () => {
  const page = readFileSync(join(ROOT, "dist/docs/commands.md"), "utf8");
  const harness = createHarness();
  const map = JSON.parse((await harness.run(["--help", "--json"])).stdout) as CommandMap;
  const paths = pathsOf(map);
  for (const path of paths) expect(page).toMatch(new RegExp(`^###? checkout${path}$`, "m"));
  expect(paths.length).toBeGreaterThan(70);

  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const maintainers = readFileSync(join(ROOT, "docs/internal/working.md"), "utf8");
  const internal = new Set(["prepack", "postprepare", "build", "format"]);
  const unnamed = Object.keys(scripts).filter(
    (name) => !internal.has(name) && !maintainers.includes(`npm ${name === "test" ? "" : "run "}${name}`),
  );
  expect(unnamed).toEqual([]);
});

test("every link of a page that the build generates leads to a file of the package", () => {
  const folder = join(ROOT, "dist/docs");
  const links = readdirSync(folder).flatMap((name) =>
    Array.from(
      readFileSync(join(folder, name), "utf8").matchAll(/\]\(([^)\s#]+)\)/g),
      ([, path = ""]) => path,
    ),
  );
  expect(links).toContain("../../docs/errors.md");
  expect(links.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
});

/** The JSON block of a page that begins with `$schema`. */
function configShown(text: string): string {
  return /```json\n(\{\s*"\$schema"[\s\S]*?)```/.exec(text)?.[1] ?? "";
}

/** The commands of all console blocks, each with its output. */
function transcript(markdown: string): Step[] {
  const blocks = [...markdown.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((step) => {
      const end = step.indexOf("\n");
      return { command: step.slice(0, end), shown: step.slice(end + 1).trimEnd() };
    });
}

/** Runs a command of a document in `sh`, with the built program instead of the installed program. */
async function execute(command: string, { ready }: Pick<SandboxHere, "ready">, cwd: string): Promise<string> {
  const script = command.replace("npx checkout", `"${process.execPath}" "${PROGRAM}"`);
  const env = {
    PATH: process.env["PATH"] ?? "",
    CHECKOUT_API_KEY: command.includes("$CHECKOUT_API_KEY") ? (ready.api_key ?? "") : "",
  };
  const { stdout } = await promisify(execFile)("sh", ["-c", script], { cwd, env });
  return stdout.trimEnd();
}

/** Runs a command that OF_PROGRAM matches in this process. */
async function executeHere(command: string, cwd: string): Promise<string> {
  const [, variable, value = "", words = "", file] = OF_PROGRAM.exec(command) ?? [];
  const args = Array.from(words.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);
  const env = variable === undefined ? {} : { [variable]: value };
  const { code, stdout, stderr } = await runHere(args, { cwd, env });
  expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
  if (file === undefined) return stdout.trimEnd();
  writeFileSync(join(cwd, file), stdout);
  return "";
}

/** Runs a command about a background sandbox as a process; a sandbox that it starts ends with the test. */
async function runInBackground(command: string, cwd: string): Promise<string> {
  if (command.includes(" start "))
    onTestFinished(async () => void (await runHere(["sandbox", "stop"], { cwd })));
  const env = { ...CALLED_BY_NPX, CHECKOUT_SANDBOX_PORT: "0" };
  const { stdout } = await run(command.replace("npx checkout ", "").split(" "), { cwd, env });
  return stdout.trimEnd();
}

async function printedAtStart(command: string, cwd: string): Promise<string> {
  const args = command.slice(START.length).split(" ").filter(Boolean);
  const sandbox = await launch(["sandbox", "start", ...args, "--port", "0"], { cwd, env: CALLED_BY_NPX });
  await sandbox.stop("SIGTERM");
  return sandbox.output.stdout.trimEnd();
}

/** Replaces values that differ between runs: ids, secrets, ports, the folder. */
function normalise(text: string, cwd: string): string {
  return text
    .replaceAll(UUIDS, "<uuid>")
    .replaceAll(/(?<= {2})[0-9a-f]{8}$|^[0-9a-f]{8}(?= {2})/gm, "<short id>")
    .replaceAll(/svc_test_[0-9A-Za-z]{33}/g, "<api key>")
    .replaceAll(/whsec_[\w-]{43}/g, "<signing secret>")
    .replaceAll(/#t=[\w-]{22}/g, "#t=<code>")
    .replaceAll(/\/portal\/k-[\w-]{22}/g, "/portal/<key>")
    .replaceAll(/svc_control_[\w-]{43}/g, "<control token>")
    .replaceAll(/co-[0-9a-f]{40}-1/g, "<key>")
    .replaceAll(/(127\.0\.0\.1|localhost):\d+/g, "$1:<port>")
    .replaceAll(/\d+ KiB/g, "<size>")
    .replaceAll(/pid"?[: ]+\d+/gi, "<pid>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<moment>")
    .replaceAll(cwd, "<folder>");
}
