import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { choiceParser } from "../parsers.ts";
import { noSandboxProblem, Refused } from "../problem.ts";
import { assignmentCommand } from "../../core/shell/quote.ts";
import { storeAccessOf, noteOwnSecrets, accessVariables, type StoreAccess } from "../store/variables.ts";
import { findRunningSandbox, runningReadyMessage, type RunningSandbox } from "./running.ts";
import { type CommonOptions, withoutOwnStore } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

const FORMATS = ["sh", "fish", "powershell", "dotenv", "json", "github"] as const;
type Format = (typeof FORMATS)[number];

type EnvOptions = CommonOptions & { readonly format?: Format; readonly control?: boolean };

const NO_KEY_TEXT = "credentials.json has no key of this store";
const REVOKED_KEY_TEXT =
  "the key of this store in credentials.json is revoked; create another: checkout keys create";

type Access = StoreAccess & { readonly revokedLastFours: readonly string[] };

export function registerEnv(group: Group): void {
  register<EnvOptions>(group, {
    name: "env",
    summary: "print the running sandbox's variables for a shell, a .env file or CI",
    examples: [
      'eval "$(checkout env)"',
      "checkout env --format fish | source",
      "checkout env --format powershell | Out-String | Invoke-Expression",
      "checkout env --format dotenv > .env.test",
      "checkout env --store 'Tea Shop' --format dotenv > .env.tea",
      'checkout env --format github >> "$GITHUB_ENV"',
    ],
    options: [
      valueOption(
        "--format <format>",
        { text: `output format: ${FORMATS.join(", ")}`, default: "sh" },
        choiceParser(FORMATS),
      ),
      switchOption("--control", "include the control token, which gives control of the sandbox"),
    ],
    conflicts: [["json", "format"]],
    run: async (context, options) => {
      try {
        return await runEnv(context, options);
      } catch (error) {
        const isForShell = options.json !== true && (options.format ?? "sh") === "sh";
        // `eval` of an empty output succeeds, so `set -e` would not notice the refusal.
        if (isForShell && error instanceof Refused)
          context.world.stdout.write(`(exit ${error.problem.exitCode})\n`);
        throw error;
      }
    },
  });
}

async function runEnv(context: Context, options: EnvOptions): Promise<number> {
  const { printer, around } = context;
  const folder = around.folder();
  const sandbox = await findRunningSandbox(context);
  if (sandbox === undefined) {
    const namedAddress = around.address()?.value;
    const next = "checkout sandbox start; within checkout exec the environment has these variables already";
    throw new Refused({ ...noSandboxProblem(folder), ...(namedAddress === undefined ? {} : { next }) });
  }
  const { control_token: token } = sandbox.run;
  const access = await readAccess(context, options, sandbox);
  const { revokedLastFours } = access;
  const isRevoked = access.apiKey !== null && revokedLastFours.includes(access.apiKey.slice(-4));
  const apiKey = isRevoked ? null : access.apiKey;
  const variables = {
    ...accessVariables({ ...access, apiKey }),
    ...(options.control === true ? { CHECKOUT_CONTROL_TOKEN: token } : {}),
  };
  // A look-up of the store hides the token in all output, but here the token must be shown.
  if (options.control === true) printer.reveal(token);
  if (apiKey === null)
    printer.trace(`warning: CHECKOUT_API_KEY is left out: ${isRevoked ? REVOKED_KEY_TEXT : NO_KEY_TEXT}`);
  noteOwnSecrets(context, access);
  return printer.result(output("variables", variables), () =>
    environmentText(variables, options.format ?? "sh"),
  );
}

/** The sandbox's description has the first store's variables; only another store needs the slow import of operations. */
async function readAccess(context: Context, options: EnvOptions, sandbox: RunningSandbox): Promise<Access> {
  const { version, around } = context;
  const { control_token: token } = sandbox.run;
  const { origin } = new URL(sandbox.description.baseUrl);
  const chosenStore = around.chosenStore();
  if (options.store === undefined && chosenStore === undefined) {
    const access = storeAccessOf(runningReadyMessage(context, sandbox));
    const { revokedKeyEnds: revokedLastFours = [], ownSecrets } = sandbox.description;
    return { ...access, baseUrl: `${origin}/v1`, ownSecrets, revokedLastFours };
  }
  const { readStoreAccess, listRevokedLastFours } = await import("../store/access.ts");
  // The output replaces the key and the store of the environment, so they must not influence it.
  const folderContext = { ...context, around: withoutOwnStore(context.around) };
  const target = { origin, token, version };
  const access = await readStoreAccess(folderContext, target);
  const revokedLastFours = await listRevokedLastFours(context, target, access.storeId);
  return { ...access, revokedLastFours };
}

export function environmentText(variables: Readonly<Record<string, string>>, format: Format): string {
  if (format === "json") return JSON.stringify(variables);
  return Object.entries(variables)
    .map(([name, value]) => LINE_FORMATS[format](name, value))
    .join("\n");
}

const LINE_FORMATS: Readonly<Record<Exclude<Format, "json">, (name: string, value: string) => string>> = {
  sh: (name, value) => assignmentCommand(name, value, "sh"),
  fish: (name, value) => assignmentCommand(name, value, "fish"),
  powershell: (name, value) => assignmentCommand(name, value, "powershell"),
  dotenv: (name, value) => `${name}=${dotenvValue(value)}`,
  github: (name, value) => `${name}<<${delimiterFor(value)}\n${value}\n${delimiterFor(value)}`,
};

/** Uses a quotation mark that is not in the value, because parsers of .env files disagree about escapes. */
function dotenvValue(value: string): string {
  if (/^[\w.:/@%+,-]*$/.test(value)) return value;
  const quote = ["'", "`", '"'].find((mark) => !value.includes(mark)) ?? "'";
  return `${quote}${value}${quote}`;
}

function delimiterFor(value: string): string {
  let delimiter = "CHECKOUT_END";
  while (value.includes(delimiter)) delimiter += "_";
  return delimiter;
}
