// The commands in the section `shop` of checkout.config.json run only after the user has confirmed the section.
import { dirname, join } from "node:path";
import type { ShopDescription } from "../../client/judge/shop/description.ts";
import { parseCommandLine } from "../../client/merchant-command.ts";
import { loadConfig } from "../../host/config/load.ts";
import { trustFault } from "../../host/folder/trust.ts";
import { sectionHash, shopSection, type ShopField, type ShopSection } from "../../core/judge/shop.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { printable, printableLiteral, snakeCase } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { EXIT, Refused, refuseUsage, unwrap } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { readInput } from "../input.ts";
import type { ShopOptions } from "./options.ts";

const COMMAND_FIELDS = ["create", "orderViewCommand", "serve", "restart"] as const;
type CommandField = (typeof COMMAND_FIELDS)[number];

/** The file's commands need a confirmation if one of `usedCommands` (default: all) would run. */
export async function describeShop(
  context: Context,
  options: ShopOptions,
  usedCommands: readonly CommandField[] = COMMAND_FIELDS,
): Promise<ShopDescription> {
  refusePage("--create", options.create);
  const loadedConfig = unwrap(await loadConfig(context.world, {}));
  const shop = loadedConfig?.config.shop;
  if (options.create === undefined) refusePage("shop.create", shop?.create);
  if (loadedConfig === undefined || shop === undefined) return describeSection(context, {}, options);
  const { path } = loadedConfig;
  const commands = COMMAND_FIELDS.flatMap((name) => {
    const line = shop[name];
    return typeof line === "string" ? [checkedCommand(path, name, line)] : [];
  });
  // A command that an option replaces does not run, but the confirmation covers all commands of the section.
  if (usedCommands.some((name) => typeof shop[name] === "string" && options[name] === undefined))
    await trustSection(context, options, { path, shop, commands });
  return describeSection(context, shop, options);
}

const PAGE_PATTERN = /^(?:(?:GET|POST|PUT)\s+(\S+)|(https?:\/\/\S+))$/;

/** Refuses a page such as `POST /buy` as a command, because a shell would run `POST` as a program. */
function refusePage(name: string, create: unknown): void {
  const [, postedPage, address] = (typeof create === "string" ? PAGE_PATTERN.exec(create) : undefined) ?? [];
  const page = postedPage ?? address;
  if (page === undefined) return;
  throw refuseUsage(
    `${name} is a command; got ${printableLiteral(String(create))}`,
    `a page is "create": { "post": ${printableLiteral(page)} } in the shop section of checkout.config.json, which checkout shop init writes`,
  );
}

function checkedCommand(path: string, name: ShopField, line: string): string {
  const result = parseCommandLine(line);
  if (result.ok) return `${snakeCase(name)}: ${line}`;
  throw refuseUsage(`${printable(path)}: shop.${snakeCase(name)}: ${result.refusal.message}`, "correct it");
}

const FIELDS = (Object.keys(shopSection.shape) as ShopField[]).filter((field) => field !== "cookie");

export async function describeSection(
  context: Context,
  { paidWhen, orderIdOf, cookie, ...section }: ShopSection,
  options: ShopOptions,
): Promise<ShopDescription> {
  const hasViewOption = options.orderView !== undefined || options.orderViewCommand !== undefined;
  const fields = FIELDS.flatMap((field) => (options[field] === undefined ? [] : [[field, options[field]]]));
  return {
    ...section,
    ...(hasViewOption && { orderView: undefined, orderViewCommand: undefined }),
    paidWhen: paidWhen === undefined ? undefined : new RegExp(paidWhen),
    orderIdOf: orderIdOf === undefined ? undefined : new RegExp(orderIdOf),
    ...Object.fromEntries(fields),
    cookie: await readCookie(context, options, cookie?.env),
  };
}

const TRUST_FILE = "trusted-shops.json";

type FileSection = { readonly path: string; readonly shop: ShopSection };

/** Asks again only after the section has changed: its hash is stored. Refuses if the command is not interactive. */
async function trustSection(
  { world, printer }: Context,
  { trustConfig }: ShopOptions,
  { path, shop, commands }: FileSection & { readonly commands: readonly string[] },
): Promise<void> {
  if (trustConfig === true) return;
  const folder = world.settingsFolder();
  const trustRecord = folder === undefined ? {} : readTrustRecord(world, join(folder, TRUST_FILE));
  if (trustRecord[dirname(path)] === sectionHash(shop)) return;
  if (!world.isInteractive())
    throw new Refused({
      exitCode: EXIT.usage,
      code: "config_not_trusted",
      message: `${printable(path)} has commands that nobody has confirmed on this machine: ${commands.map(printable).join("; ")}`,
      next: "read them, then add --trust-config, or type the command once at a terminal",
    });
  const commandsText = commands.map((line) => `  ${printable(line)}`).join("\n");
  printer.info(`${printable(path)} would run:\n${commandsText}`);
  const question = "Run these commands now and later, as long as the section does not change?";
  await confirm(world, question, "; nothing was run");
  keepTrust(world, { path, shop });
}

export async function trustWrittenSection({ world }: Context): Promise<void> {
  const { path, config } = unwrap(await loadConfig(world, {})) ?? {};
  if (path !== undefined && config?.shop !== undefined) keepTrust(world, { path, shop: config.shop });
}

function keepTrust(world: Context["world"], { path, shop }: FileSection): void {
  const folder = world.settingsFolder();
  if (folder === undefined) return;
  const trustPath = join(folder, TRUST_FILE);
  const trustedHashes = { ...readTrustRecord(world, trustPath), [dirname(path)]: sectionHash(shop) };
  world.files.makeFolder(folder);
  world.files.write(trustPath, `${JSON.stringify(trustedHashes, null, 2)}\n`);
}

function readTrustRecord(world: Context["world"], trustPath: string): Readonly<Record<string, string>> {
  if (!world.files.exists(trustPath) || trustFault(world, trustPath, "file") !== undefined) return {};
  const json = parseJson(world.files.read(trustPath) ?? "");
  if (!isRecord(json)) return {};
  const rows = Object.entries(json).filter((row): row is [string, string] => typeof row[1] === "string");
  return Object.fromEntries(rows);
}

/** Reads the cookie from a file or a variable, because other users can read command lines. */
async function readCookie(
  { world, printer }: Context,
  { cookieFile }: ShopOptions,
  variable: string | undefined,
): Promise<string | undefined> {
  let text = variable && world.env[variable];
  if (cookieFile !== undefined)
    text = Buffer.from(await readInput(world, cookieFile, "--cookie-file")).toString("utf8");
  else if (variable !== undefined && (text === undefined || text === ""))
    throw refuseUsage(
      `the variable ${variable} of cookie in the shop section is not set`,
      `export ${variable}`,
    );
  const cookie = text?.trim();
  if (cookie !== undefined) printer.hide(cookie);
  return cookie;
}
