import type { World } from "../../world.ts";
import { createPrinter } from "../printer.ts";
import { formatMarkdown } from "./markdown.ts";
import { TOPIC_SUMMARIES, type HelpTopic } from "./topic-names.ts";
import { output } from "../output/output.ts";

/** `heading`: shows only this section. `isLeadOnly`: shows only the text before the first section. */
const PAGES = {
  idempotency: {
    load: () => import("../../../docs/orders.md?raw"),
    heading: "The Idempotency-Key",
    command: "checkout idempotency --help",
  },
  webhooks: { load: () => import("../../../docs/webhooks.md?raw"), command: "checkout webhooks --help" },
  clock: {
    load: () => import("../../../docs/faults.md?raw"),
    heading: "Time instead of faults",
    command: "checkout sandbox clock --help",
  },
  faults: { load: () => import("../../../docs/faults.md?raw"), command: "checkout faults add --help" },
  drills: { load: () => import("../../../docs/launch.md?raw"), command: "checkout checklist run --help" },
  ci: { load: () => import("../../../docs/ci.md?raw"), isLeadOnly: true, command: "checkout exec --help" },
} satisfies Readonly<
  Record<
    HelpTopic,
    {
      readonly load: () => Promise<{ readonly default: string }>;
      readonly heading?: string;
      readonly isLeadOnly?: true;
      readonly command: string;
    }
  >
>;

export async function printTopic(
  world: World,
  topic: HelpTopic,
  options: { readonly json: boolean },
): Promise<number> {
  const printer = await createPrinter(world, options);
  const page = PAGES[topic];
  const { default: text } = await page.load();
  const markdown =
    "heading" in page ? sectionOf(text, page.heading) : "isLeadOnly" in page ? leadOf(text) : text;
  const { command } = page;
  return printer.result(
    output("help_topic", { topic, summary: TOPIC_SUMMARIES[topic], markdown, next: command }),
    () => [formatMarkdown(markdown, printer), "", `→ ${command}`].join("\n"),
  );
}

function leadOf(page: string): string {
  const [lead = ""] = page.split("\n## ", 1);
  return `${lead}\n`;
}

function sectionOf(page: string, heading: string): string {
  const start = page.indexOf(`\n## ${heading}\n`) + 1;
  if (start === 0) throw new Error(`no section ${heading}`);
  const end = page.indexOf("\n## ", start);
  return page.slice(start, end === -1 ? undefined : end + 1);
}
