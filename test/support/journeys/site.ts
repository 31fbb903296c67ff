import { chownSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import type { ReadyMessage } from "../../../src/host/ready.ts";
import { verifyWebhook } from "../../../src/webhooks.ts";
import { eventually } from "../eventually.ts";
import type { FullAnswer, ApiCall } from "../harness.ts";
import { listenUntilEnd, readBody } from "../http-receiver.ts";
import { FULL } from "../campaign.ts";
import { runHere, type Result } from "../program.ts";
import { sendRaw } from "../send-raw.ts";
import { runIn, type Command, type Form, type FormOptions } from "./form.ts";
import { readRouteTable, type RouteName, type RouteTable } from "./routes.ts";

/**
 * A request to the sandbox of a site; default: GET, or POST with a body, with the API key. Empty headers are not sent.
 */
export type SiteCall = Partial<ApiCall> & Pick<ApiCall, "path">;

/** A sandbox of one form with its merchant: the journeys of a form share it. */
export type Site = {
  readonly form: Form;
  readonly cwd: string;
  readonly ready: ReadyMessage;
  readonly request: (call: SiteCall) => Promise<FullAnswer>;
  /**
   * Runs a command line in the folder of the merchant; fails unless it ends with `code` (default: 0). In `npm test` a
   * form with a `half` runs every second line that sets no variable, and the sources run the others.
   */
  readonly type: (line: string | readonly string[], options?: TypeOptions) => Promise<Result>;
  /**
   * Runs a command line with `--json` that is not itself tested, and returns its output: with the tested form in a
   * release, otherwise with the sources in this process, which takes a tenth of the time.
   */
  readonly ask: <Said = Readonly<Record<string, string>>>(line: string) => Promise<Said>;
  /** Starts a command line that keeps running, and waits for its first line. */
  readonly launch: (line: string, options?: Omit<FormOptions, "cwd">) => Promise<Command>;
  /** Writes a file of the merchant into the folder. */
  readonly write: (name: string, content: string | Uint8Array) => void;
  readonly adminToken: () => string;
  /** The origin of a receiver that accepts genuine webhooks below `/hooks`, and fails elsewhere. */
  readonly receiver: string;
  /** The genuine webhooks that the receiver has accepted. */
  readonly heard: readonly Heard[];
  readonly routes: RouteTable;
  readonly usedRoutes: ReadonlySet<RouteName>;
  readonly stop: () => Promise<number | null>;
};

/** A webhook that the receiver has accepted. */
type Heard = {
  readonly type: string;
  readonly body: Buffer;
  readonly timestamp: string;
  readonly signature: string;
};

type TypeOptions = { readonly code?: number; readonly env?: Readonly<Record<string, string>> };

/** Starts a sandbox of a form in a new folder, and a receiver. */
export async function openSite(form: Form): Promise<Site> {
  const cwd = form.folder();
  const served = await firstLine(form.begin(["sandbox", "start", "--json", "--port", "0"], { cwd }));
  const ready = JSON.parse(served.output.stdout) as ReadyMessage;
  const { host, port } = new URL(ready.base_url);
  const routes = await readRouteTable();
  const [usedRoutes, heard]: [Set<RouteName>, Heard[]] = [new Set(), []];
  let typed = 0;
  const type: Site["type"] = async (line, { code = 0, env } = {}) => {
    const words = typeof line === "string" ? line.split(" ") : line;
    typed += 1;
    const isOwn = FULL || env !== undefined || form.half === undefined || typed % 2 === form.half;
    const options = { cwd, ...(env === undefined ? {} : { env }) };
    return expectCode(words, await (isOwn ? runIn(form, words, options) : runHere(words, options)), code);
  };
  const ask = async (line: string): Promise<Result> => {
    const words = [...line.split(" "), "--json"];
    return FULL ? type(words) : expectCode(words, await runHere(words, { cwd }), 0);
  };
  return {
    form,
    cwd,
    ready,
    request: async ({ path, method, headers, body }) => {
      const sent = method ?? (body === undefined ? "GET" : "POST");
      const route = routes.of(sent, path);
      if (route !== undefined) usedRoutes.add(route);
      const usual = {
        Host: host,
        Authorization: `Bearer ${ready.api_key ?? ""}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      };
      const all = Object.entries({ ...usual, ...headers }).filter(([, value]) => value !== "");
      return sendRaw({ port, method: sent, path, headers: Object.fromEntries(all), setHost: false }, body);
    },
    type,
    ask: async (line) => JSON.parse((await ask(line)).stdout) as never,
    launch: (line, options) => firstLine(form.begin(line.split(" "), { cwd, ...options })),
    write: (name, content) => {
      const { uid, gid } = statSync(cwd);
      writeFileSync(join(cwd, name), content);
      chownSync(join(cwd, name), uid, gid);
    },
    adminToken: () =>
      (JSON.parse(readFileSync(join(cwd, ".checkout/admin.json"), "utf8")) as { admin_token: string })
        .admin_token,
    receiver: await openReceiver(ready.signing_secret, heard),
    heard,
    routes,
    usedRoutes,
    stop: served.stop,
  };
}

/** Returns the result of a command line; fails if it has another exit code. */
function expectCode(words: readonly string[], done: Result, code: number): Result {
  if (done.code === code) return done;
  const said = `${done.stdout}${done.stderr}`.slice(-600);
  throw new Error(`checkout ${words.join(" ")} ended with ${done.code}, not ${code}: ${said}`);
}

/** Waits for the first line of a command line; fails with its output if it ends before. */
async function firstLine(begun: Command): Promise<Command> {
  let code: number | null | undefined;
  void begun.ended.then((ended) => (code = ended));
  await eventually("the program has printed a line", () => {
    if (code === undefined) expect(begun.output.stdout).toContain("\n");
  });
  if (!begun.output.stdout.includes("\n"))
    throw new Error(`the program ended with ${String(code)}: ${begun.output.stderr}`);
  return begun;
}

async function openReceiver(secrets: string, heard: Heard[]): Promise<string> {
  const seen = new Set<string>();
  const port = await listenUntilEnd(
    createServer((request, response) => {
      void readBody(request).then((body) => {
        const verdict = verifyWebhook({
          rawBody: body ?? Buffer.alloc(0),
          headers: request.rawHeaders,
          secrets,
        });
        const isTaken = request.url?.startsWith("/hooks") === true && verdict.ok;
        if (verdict.ok && isTaken && !seen.has(verdict.eventId)) {
          seen.add(verdict.eventId);
          heard.push({
            type: verdict.event.type,
            body: body ?? Buffer.alloc(0),
            timestamp: String(request.headers["checkout-timestamp"]),
            signature: String(request.headers["checkout-signature"]),
          });
        }
        response.writeHead(isTaken ? 204 : verdict.ok ? 500 : 400).end();
      });
    }),
  );
  return `http://127.0.0.1:${port}`;
}
