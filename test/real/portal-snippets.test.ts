import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { SNIPPETS, type Snippets } from "../../src/sandbox/pages/portal/store/snippets.ts";
import { eventually } from "../support/eventually.ts";
import { pageText } from "../support/documents.ts";
import { createHarness } from "../support/harness.ts";
import { writeProject } from "../support/kit-projects.ts";
import { hasLanguage, type TestedLanguage } from "../support/machine.ts";
import { signedIn } from "../support/portal.ts";
import { heldPort } from "../support/ports.ts";
import { PROGRAM, runHere, startSandboxHere } from "../support/program.ts";

const execute = promisify(execFile);

/** A webhook as it arrived, and the secret of its signature. */
type ReceivedWebhook = {
  readonly secret: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: Buffer;
};

/** Runs the snippets of a language as they are shown. */
type Runner = {
  /** A language that the machine may not have. */
  readonly needs?: TestedLanguage;
  readonly create: (code: string, place: Place) => Promise<unknown>;
  /** Returns for each webhook whether it is genuine. */
  readonly verify: (
    code: string,
    place: Place,
    arrived: readonly ReceivedWebhook[],
  ) => Promise<readonly boolean[]>;
};

type Place = { readonly folder: string; readonly env: NodeJS.ProcessEnv };

const RUNNERS: Readonly<Record<string, Runner>> = {
  cli: {
    create: (code, place) => shell(code, place),
    verify: (code, place, arrived) =>
      oneByOne(arrived, (one) =>
        shell(code, place, one).then(
          () => true,
          () => false,
        ),
      ),
  },
  curl: {
    needs: "curl",
    create: (code, place) => shell(code, place),
    verify: (code, place, arrived) =>
      oneByOne(arrived, async (one) => (await shell(code, place, one)) === "genuine\n"),
  },
  node: {
    create: (code, { folder, env }) => {
      writeFileSync(join(folder, "create.mjs"), code);
      return execute(process.execPath, ["create.mjs"], { cwd: folder, env });
    },
    verify: verifyByServer,
  },
  python: {
    needs: "python",
    create: (code, { folder, env }) => execute("python3", ["-c", code], { cwd: folder, env }),
    verify: async (code, place, arrived) => {
      const call = `${code}\nimport base64, json, sys
def headers(one): return [("Checkout-Timestamp", one["timestamp"]), ("Checkout-Signature", one["signature"])]
print(json.dumps([is_genuine([one["secret"]], headers(one), base64.b64decode(one["body"]))
                  for one in json.loads(sys.argv[1])]))`;
      const { stdout } = await execute("python3", ["-c", call, asJson(arrived)], { cwd: place.folder });
      return JSON.parse(stdout) as boolean[];
    },
  },
  php: {
    needs: "php",
    create: (code, { folder, env }) => execute("php", ["-r", code], { cwd: folder, env }),
    verify: async (code, place, arrived) => {
      const call = `${code}\necho json_encode(array_map(
    fn ($one) => is_genuine([$one['secret']], $one['timestamp'], $one['signature'], base64_decode($one['body'])),
    json_decode($argv[1], true)));`;
      const { stdout } = await execute("php", ["-r", call, asJson(arrived)], { cwd: place.folder });
      return JSON.parse(stdout) as boolean[];
    },
  },
};

test("every snippet of the Connect page creates an order, accepts a genuine webhook and refuses a changed webhook", async () => {
  const folder = writeProject({});
  const { ready } = await startSandboxHere({ cwd: folder });
  const arrived = await firstWebhook(folder, ready.signing_secret);
  const env = {
    PATH: process.env["PATH"],
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_SIGNING_SECRET: ready.signing_secret,
  };
  const place = { folder, env };
  const changed = { ...arrived, body: Buffer.from(`${arrived.body.toString()} `) };
  for (const { id, create, verify } of SNIPPETS) {
    const runner = RUNNERS[id];
    if (runner === undefined) throw new Error(`nothing runs the snippets of ${id}`);
    if (runner.needs !== undefined && !hasLanguage(runner.needs)) continue;
    const before = await countOrders(folder);
    await runner.create(create, place);
    expect([id, (await countOrders(folder)) - before]).toEqual([id, 1]);
    const verdicts = await runner.verify(verify, place, [arrived, changed]);
    expect([id, verdicts]).toEqual([id, [true, false]]);
  }
});

test("the Connect page shows the snippets as they are run, and docs/verifying.md has the same verifiers", async () => {
  const harness = createHarness();
  const portal = await signedIn(harness, await harness.start());
  for (const { id, create, verify } of SNIPPETS) {
    const { html } = await portal.get(`${portal.home}/connect?in=${id}`);
    const shown = Array.from(html.matchAll(/<pre[^>]*><code[^>]*>([\s\S]*?)<\/code>/g), ([, code = ""]) =>
      codeOf(code),
    );
    expect([id, shown.slice(-2)]).toEqual([id, [create.trimEnd(), verify.trimEnd()]]);
  }
  const of = (id: string): Snippets | undefined => SNIPPETS.find((one) => one.id === id);
  const verifying = pageText("docs/verifying.md");
  expect(verifying).toContain(`\`\`\`python\n${of("python")?.verify}\`\`\``);
  expect(verifying).toContain(`\`\`\`php\n${of("php")?.verify}\`\`\``);
  expect(pageText("README.md")).toContain(of("cli")?.create.trimEnd());
});

/** The text of code in HTML, as a browser shows it. */
function codeOf(markup: string): string {
  const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return markup.replaceAll(/&([#\w]+);/g, (whole, name: string) => entities[name] ?? whole);
}

/** Runs a snippet in a shell with this program, and with the webhook in the file and variables that snippets read. */
async function shell(code: string, { folder, env }: Place, arrived?: ReceivedWebhook): Promise<string> {
  if (arrived !== undefined) writeFileSync(join(folder, "body.json"), arrived.body);
  const { stdout } = await execute(
    "sh",
    ["-ec", code.replaceAll("npx checkout", `"${process.execPath}" "${PROGRAM}"`)],
    { cwd: folder, env: { ...env, TIMESTAMP: arrived?.timestamp, SIGNATURE: arrived?.signature } },
  );
  return stdout;
}

/** Judges the webhooks one after the other. */
async function oneByOne(
  arrived: readonly ReceivedWebhook[],
  isGenuine: (one: ReceivedWebhook) => Promise<boolean>,
): Promise<boolean[]> {
  const verdicts: boolean[] = [];
  for (const one of arrived) verdicts.push(await isGenuine(one));
  return verdicts;
}

/** Runs the server of the snippet on a free port, and sends it the webhooks. */
async function verifyByServer(
  code: string,
  { folder, env }: Place,
  arrived: readonly ReceivedWebhook[],
): Promise<readonly boolean[]> {
  const port = await heldPort();
  writeFileSync(join(folder, "verify.mjs"), code.replace("3000", String(port)));
  const child = execFile(process.execPath, ["verify.mjs"], { cwd: folder, env });
  const send = async (one: ReceivedWebhook): Promise<boolean> => {
    const headers = {
      "Content-Type": "application/json",
      "Checkout-Event-Id": (JSON.parse(one.body.toString()) as { event_id: string }).event_id,
      "Checkout-Timestamp": one.timestamp,
      "Checkout-Signature": one.signature,
    };
    const body = new Uint8Array(one.body);
    const answer = await fetch(`http://127.0.0.1:${port}/hooks`, { method: "POST", headers, body });
    return answer.status === 204;
  };
  try {
    return await oneByOne(arrived, (one) => eventually("the server of the snippet answers", () => send(one)));
  } finally {
    child.kill();
  }
}

/** Opens a receiver and triggers an event; returns the webhook that the receiver gets. */
async function firstWebhook(folder: string, secret: string): Promise<ReceivedWebhook> {
  const { promise, resolve } = Promise.withResolvers<ReceivedWebhook>();
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { "checkout-timestamp": timestamp, "checkout-signature": signature } = request.headers;
      resolve({ secret, timestamp: String(timestamp), signature: String(signature), body });
      response.writeHead(204).end();
    });
  });
  const port = await portOf(server);
  onTestFinished(() => void server.close());
  await runHere(["endpoints", "add", `http://127.0.0.1:${port}/hooks`], { cwd: folder });
  await runHere(["trigger", "order.created"], { cwd: folder });
  return promise;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return Buffer.concat((await request.toArray()) as Buffer[]);
}

async function countOrders(folder: string): Promise<number> {
  const { stdout } = await runHere(["orders", "list", "--json"], { cwd: folder });
  return (JSON.parse(stdout) as { readonly checkouts: readonly unknown[] }).checkouts.length;
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

function asJson(arrived: readonly ReceivedWebhook[]): string {
  return JSON.stringify(arrived.map((one) => Object.assign({}, one, { body: one.body.toString("base64") })));
}
