import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TOPIC_SUMMARIES } from "../../../src/cli/help/topic-names.ts";
import { FULL } from "../campaign.ts";
import { eventually } from "../eventually.ts";
import { agree } from "./agree.ts";
import type { Site } from "./site.ts";

type Listed = Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>;

const TEA = { id: "price_tea", amount_minor: 700, currency: "EUR", payment_method: "alipay_plus" };

/** Runs listen, trigger, replay and verify, with an endpoint in addition to the listener. */
export async function walkWebhooks(site: Site): Promise<void> {
  const { id: endpoint } = await site.ask(`endpoints add ${site.receiver}/hooks`);
  await site.ask(`endpoints test ${endpoint ?? ""}`);
  const listening = await site.launch(`listen --json --forward ${site.receiver}/hooks`);
  await site.type("trigger order.succeeded --order-id triggered");
  await eventually("the listener has forwarded the payment", () => {
    const lines = listening.output.stdout.split("\n").filter((line) => line.includes('"order.succeeded"'));
    agree("forwarded", [lines.length, /"target_status":204/.test(lines[0] ?? "")], [1, true]);
  });
  agree("the end of listen", await listening.stop(), 0);
  const { events } = await site.ask<Listed>("events list --order-id triggered");
  const paid = events?.find(({ type }) => type === "order.succeeded");
  const attempts = async (): Promise<number> => {
    const { deliveries } = await site.ask<Listed>("deliveries list --order-id triggered");
    return deliveries?.filter(({ event_id: id }) => id === paid?.["event_id"]).length ?? 0;
  };
  const before = await attempts();
  await site.type(`events replay ${paid?.["event_id"] ?? ""} --endpoint ${endpoint ?? ""}`);
  agree("deliveries after a replay", (await attempts()) - before, 1);
  const sent = await eventually("the receiver has the payment", () => {
    const payment = site.heard.find(({ type }) => type === "order.succeeded");
    if (payment === undefined) throw new Error(JSON.stringify(site.heard));
    return payment;
  });
  site.write("body.json", sent.body);
  const words = `webhooks verify --payload-file body.json --timestamp ${sent.timestamp} --signature`;
  await site.type(`${words} ${sent.signature}`);
  await site.type(`${words} ${"0".repeat(64)}`, { code: 1 });
}

/** Uses faults, the clock, snapshots and the configuration. */
export async function walkTools(site: Site): Promise<void> {
  const statusOf = async (orderId: string): Promise<string> =>
    (await site.ask<{ readonly status: string }>(`orders get ${orderId}`)).status;
  await site.ask("faults add --profile rate-limited");
  agree("faults", ((await site.ask<Listed>("faults list"))["faults"] ?? []).length, 1);
  await site.ask("faults clear");
  await site.ask("orders create --order-id kept --price-id price_coffee");
  await site.ask("snapshots create kept");
  await site.ask("sandbox clock freeze");
  await site.ask("sandbox clock advance 2h");
  agree("an order after two hours", await statusOf("kept"), "expired");
  await site.ask("sandbox clock real");
  await site.ask("snapshots restore kept");
  agree("the order of the snapshot", await statusOf("kept"), "created");
  await site.type("sandbox pay kept");
  const story = await site.type("explain kept");
  agree("the story of a payment", story.stdout.includes("succeeded"), true);
  const { stdout: exported } = await site.type("config export");
  const config = JSON.parse(exported) as { readonly stores: readonly { prices: object[] }[] };
  config.stores[0]?.prices.push({ ...TEA });
  site.write("checkout.config.json", JSON.stringify(config));
  await site.ask("config validate");
  await site.type("config diff", { code: 3 });
  await site.type("config apply");
  await site.ask("config diff");
  await site.ask("orders create --order-id a-tea --price-id price_tea");
}

/** Runs the webhook drill, the checklist, and `calibrate` against the sandbox. */
export async function walkChecklist(site: Site): Promise<void> {
  const { drills } = await site.ask<{ readonly drills: readonly { readonly id: string }[] }>(
    "checklist run webhooks",
  );
  const { stdout } = await site.type("checklist --json", { code: 3 });
  const { items } = JSON.parse(stdout) as { readonly items: readonly object[] };
  const isDrilled = JSON.stringify(items).includes(`"reference":"${drills[0]?.id}"`);
  agree("the items of the checklist, with the drill", [items.length, isDrilled], [6, true]);
  await site.type(`calibrate --yes --base-url ${site.ready.base_url}`);
  agree("the record", readFileSync(join(site.cwd, "checkout.calibration.json"), "utf8").length > 500, true);
}

/** The only fault in `npm test`, because a search with more faults does the same in every form. */
const LOST = '[{"action":"lose_answer","match":{"method":"POST","path":"/v1/orders","nth":1}}]';

/** Searches for faults that break this program's own client, in a release for three seconds. */
export async function walkExplore(site: Site): Promise<void> {
  if (site.form.shell === null) return expectNoShell(site);
  const purchase = `${site.form.shell} orders create --order-id "$CHECKOUT_ORDER_ID" --price-id price_coffee`;
  const { stdout } = await site.type([
    "explore",
    ...(FULL ? ["--budget", "3s"] : ["--only", LOST]),
    "--json",
    "--",
    "/bin/sh",
    "-c",
    purchase,
  ]);
  const { held, broken } = JSON.parse(stdout) as {
    readonly held: number;
    readonly broken: readonly unknown[];
  };
  agree("explored", [held > 0, broken], [true, []]);
}

async function expectNoShell(site: Site): Promise<void> {
  const { stderr } = await site.type("explore --budget 3s -- true", { code: 3 });
  agree(`a form without a shell says so: ${stderr}`, stderr.includes("/bin/sh"), true);
}

/** All rows in a release, otherwise the first row. */
const some = (rows: readonly string[]): readonly string[] => (FULL ? rows : rows.slice(0, 1));

/** Runs the commands of a person at a terminal: version, help, completion, doctor, and the hosted service. */
export async function walkTerminal(site: Site): Promise<void> {
  agree("the version", (await site.type("--version")).stdout, `${site.ready.version}\n`);
  for (const topic of some(Object.keys(TOPIC_SUMMARIES))) await site.type(`help ${topic}`);
  await site.type("help --json");
  await site.type("whoami");
  await site.ask("orders create --order-id at-the-prompt --price-id price_coffee");
  const completed = await site.type(["complete", "--", "sandbox", "pay", "at-"]);
  agree("completed", /^at-the-prompt\t.*\n:4\n$/.test(completed.stdout), true);
  for (const shell of some(["bash", "zsh", "fish", "powershell"])) await site.type(`completion ${shell}`);
  await site.type("doctor");
  const hosted = site.form.hosted;
  const { stderr } = await site.type("hosted dev --port 0 --dir hosted", {
    code: hosted.code,
    env: { PATH: "" },
  });
  agree(`hosted dev: ${stderr}`, hosted.says.test(stderr), true);
}
