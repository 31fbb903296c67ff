import { register, registerAction, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { choiceParser } from "../parsers.ts";
import { EXIT } from "../problem.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { ProgramFactory } from "./server.ts";
import { output } from "../output/output.ts";

type McpOptions = CommonOptions & { readonly allowWrite?: boolean };
type ConfigOptions = CommonOptions & { readonly client?: Client; readonly allowWrite?: boolean };

const CLIENTS = ["claude", "cursor", "vscode", "codex"] as const;
type Client = (typeof CLIENTS)[number];

export function registerMcp(makeProgram: ProgramFactory) {
  return (group: Group): void => {
    registerAction<McpOptions>(group, {
      summary: "run an MCP (Model Context Protocol) server over stdio, with tools for inspecting the sandbox",
      examples: ["checkout mcp", "checkout mcp --allow-write", "checkout mcp --dir /srv/shop/.checkout"],
      options: [allowWriteOption()],
      run: async (context, options) => {
        const { serveTools } = await import("./server.ts");
        const { dir, store, trustFolder, allowWrite = false } = options;
        const commonOptions = [
          ...(dir === undefined ? [] : [`--dir=${dir}`]),
          ...(store === undefined ? [] : [`--store=${store}`]),
          ...(trustFolder === true ? ["--trust-folder"] : []),
        ];
        await serveTools(context, makeProgram, { allowWrite, commonOptions });
        return EXIT.done;
      },
    });
    register<ConfigOptions>(group, {
      name: "config",
      usesStore: false,
      summary: "print the configuration that adds checkout to an agent",
      examples: ["checkout mcp config --client claude", "checkout mcp config --client vscode --allow-write"],
      options: [
        valueOption("--client <name>", `agent: ${CLIENTS.join(", ")}`, choiceParser(CLIENTS)),
        allowWriteOption(),
      ],
      required: ["client"],
      run: printConfig,
    });
  };
}

function allowWriteOption() {
  return switchOption(
    "--allow-write",
    "also offer the tools that create, pay, inject faults, retry, replay and restore",
  );
}

function printConfig(
  { world, printer }: Context,
  { client, allowWrite, dir }: ConfigOptions,
): Promise<number> {
  const [command = "", ...programArgs] = programWords(world);
  const args = [
    ...programArgs,
    "mcp",
    ...(allowWrite === true ? ["--allow-write"] : []),
    ...(dir === undefined ? [] : ["--dir", dir]),
  ];
  if (programArgs.length > 0) printer.info(MISSING_PACKAGE_HINT);
  const server = { command, args };
  if (client === "codex") {
    const text = `[mcp_servers.checkout]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}`;
    return printer.result(output("agent_config", { file: "~/.codex/config.toml", text }), () => text);
  }
  const serverConfig =
    client === "vscode" ? { servers: { checkout: server } } : { mcpServers: { checkout: server } };
  return printer.result(output("agent_config", serverConfig), () => JSON.stringify(serverConfig, null, 2));
}

/** Without `--no`, npx could install an unrelated package named `checkout`. On Windows, only a shell can start npx. */
function programWords({ machine, env }: Context["world"]): readonly string[] {
  const { node } = machine();
  if (node.isEmbedded) return [node.path];
  const npx = ["npx", "--no", "--", "checkout"];
  return env["OS"] === "Windows_NT" ? ["cmd", "/c", ...npx] : npx;
}

const MISSING_PACKAGE_HINT =
  'the agent runs it in your project; "could not determine executable to run" means that hosted-checkout is not installed there';
