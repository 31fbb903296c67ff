import { walkChecklist, walkExplore, walkTerminal, walkTools, walkWebhooks } from "./commands.ts";
import { walkControl } from "./control.ts";
import type { Form } from "./form.ts";
import { walkFirstPage } from "./first-page.ts";
import { walkMcp } from "./mcp.ts";
import { walkPayments } from "./payment.ts";
import { walkPortal } from "./portal.ts";
import { openSite, type Site } from "./site.ts";
import { walkV1 } from "./v1.ts";
import { unusedRoutes } from "./routes.ts";

/** The journeys of every form, in order: the last journey stops the sandbox. */
const JOURNEYS: Readonly<Record<string, (site: Site) => Promise<void>>> = {
  "v1 in both forms, its replay and its refusals": walkV1,
  "the payment page with each outcome": walkPayments,
  "listen, trigger, replay and verify": walkWebhooks,
  "faults, clock, snapshots and configuration": walkTools,
  "the checklist with a drill, and calibrate": walkChecklist,
  explore: walkExplore,
  "the tools of mcp": walkMcp,
  "version, help, completion, doctor and hosted dev": walkTerminal,
  "the first page and the health check": walkFirstPage,
  "the pages and forms of the portal": walkPortal,
  "the operations of the control API": walkControl,
};

/**
 * Walks all journeys of a form. Returns the failed journeys with their errors, or the routes that no request has used.
 */
export async function walk(form: Form): Promise<readonly string[]> {
  const site = await openSite(form);
  const failed: string[] = [];
  for (const [name, journey] of Object.entries(JOURNEYS))
    try {
      await journey(site);
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  if (failed.length > 0) return failed;
  return unusedRoutes(site.routes.all, site.usedRoutes).map((route) => `no journey uses ${route}`);
}
