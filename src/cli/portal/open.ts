import { pathToFileURL } from "node:url";
import { toIso } from "../../core/clock.ts";
import { printable } from "../../core/text.ts";
import type { TemporaryFile, World } from "../../world.ts";
import { isAnyId } from "../parsers.ts";
import { register, switchOption, type Context, type Group } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { refuseUsage, storageProblem, catchRefusal, type Problem } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { requireControlTarget } from "../target/control.ts";
import { findByOrderId, noOrderText } from "../target/ids.ts";
import { rightsOptions, type RightsOptions } from "../store/tokens.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

type OpenOptions = ServiceOptions & RightsOptions & { readonly print?: boolean };

const FILE_NAME = "sign-in.html";
const FILE_LIFETIME_MS = 5000;

export function registerOpen(group: Group): void {
  register<OpenOptions>(group, {
    name: "open [id|order_id]",
    summary: "open the portal in your browser, signed in; with an id, open the page of that id",
    examples: [
      "checkout open",
      "checkout open order-1001",
      "checkout open --print",
      "checkout open --print --store Alice --role viewer --valid 30d",
    ],
    options: [
      switchOption(
        "--print",
        "print the sign-in link instead of opening it; the link works once, within 10 minutes; with --store, the link opens only that store, and works once within 24 hours",
      ),
      ...rightsOptions("how long the session of a --store link lasts"),
    ],
    run: runOpen,
  });
}

async function runOpen(context: Context, options: OpenOptions, id?: string): Promise<number> {
  const { printer } = context;
  const { signInUrl, expiresAt } = await createSignIn(context, options, id);
  const fields = { sign_in_url: signInUrl, expires_at: toIso(expiresAt) };
  if (options.print === true)
    return printer.result(output("portal", { opened: false, ...fields }), () => signInUrl);
  const outcome = await openSecretly(context, signInUrl);
  if (!outcome.ok) {
    printer.trace(`warning: no browser was opened (${printable(outcome.message)}); open the link by hand`);
    return printer.result(output("portal", { opened: false, ...fields }), () => signInUrl);
  }
  const { origin } = new URL(signInUrl);
  const exitCode = await printer.result(
    output("portal", { opened: true, sign_in_url: null, expires_at: null }),
    () =>
      id === undefined
        ? `opened the portal at ${origin}`
        : `opened ${printable(id)} in the portal at ${origin}`,
  );
  printer.info("No page? checkout open --print shows the link to open by hand.");
  await outcome.cleanUp();
  return exitCode;
}

async function createSignIn(context: Context, options: OpenOptions, id?: string) {
  const isStoreLink = isForStore(context, options);
  const target = await requireControlTarget(context);
  const { storeId } = target;
  const home = storeId === undefined ? "/portal" : `/portal/${storeId}`;
  const page = storeId === undefined ? home : `${home}/start`;
  // For an order_id of several checkouts, the portal would show only the newest, so this command refuses it.
  const checkout = id === undefined ? undefined : await findByOrderId(context, id, target);
  if (id !== undefined && checkout === undefined && !isAnyId(id))
    context.printer.info(`note: ${noOrderText(id)}; the portal searches for this text`);
  const q = checkout ?? id;
  const path = q === undefined ? page : `${home}/find?${new URLSearchParams({ q }).toString()}`;
  const body = isStoreLink ? { to: path, storeId, role: options.role, validMs: options.valid } : { to: path };
  return callAt(context, target, { name: "createSignIn", body, remedies: LINK_REMEDIES });
}

function isForStore({ around }: Context, { print, role, valid }: OpenOptions): boolean {
  if (print === true && around.storeFlag !== undefined) return true;
  if (role === undefined && valid === undefined) return false;
  throw refuseUsage(
    "--role and --valid are about a link to one store, so they need --print and --store",
    "for example: checkout open --print --store Alice --role viewer",
  );
}

const LINK_REMEDIES = {
  not_found: "checkout orders list, sessions list, events list and requests list show the ids of a store",
} as const;

type OpenResult =
  | { readonly ok: true; readonly cleanUp: () => Promise<void> }
  | { readonly ok: false; readonly message: string };

/**
 * Opens a file that redirects to the link, because other users could read the sign-in code in the arguments of the
 * browser's process (decision 99).
 */
async function openSecretly(context: Context, link: string): Promise<OpenResult> {
  const { world } = context;
  const folder = runningFolder(context);
  const page = redirectPage(link);
  const file = writeFile(world, folder, page);
  if ("message" in file) return { ok: false, message: file.message };
  const outcome = await world.openBrowser(pathToFileURL(file.path).href);
  if (!outcome.ok) {
    file.remove();
    return outcome;
  }
  const cleanUp = async (): Promise<void> => {
    if (folder !== undefined) return;
    await world.sleep(FILE_LIFETIME_MS);
    file.remove();
  };
  return { ok: true, cleanUp };
}

/** Returns a storage problem instead of throwing, so that the link can still be printed. */
function writeFile(world: World, folder: string | undefined, page: string): TemporaryFile | Problem {
  try {
    return folder === undefined ? world.temporaryFile(FILE_NAME, page) : writeKeptFile(world, folder, page);
  } catch (error) {
    const problem = storageProblem(error);
    if (problem === undefined) throw error;
    return problem;
  }
}

function writeKeptFile(world: World, folder: string, content: string): TemporaryFile {
  const path = stateFile(folder, "signIn");
  world.files.write(path, content);
  return { path, remove: () => world.files.remove(path) };
}

function runningFolder({ around }: Context): string | undefined {
  return catchRefusal(around.run).value && around.location();
}

function redirectPage(link: string): string {
  const text = link.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="1;url=${text}">
<title>checkout</title>
<script>location.replace(${JSON.stringify(link).replaceAll("<", "\\u003c")})</script>
<p><a href="${text}">checkout portal</a></p>
`;
}
