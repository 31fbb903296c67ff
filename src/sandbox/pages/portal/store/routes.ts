import { accept } from "../../../../core/outcome.ts";
import { html } from "../../../../web/html.ts";
import { actForm, storePath } from "../frame.ts";
import { act, ask, page, type PortalRoute } from "../route.ts";

/** The pages of a store itself: start, catalog, keys, settings, clock, faults, stores. */
export const STORE_ROUTES: readonly PortalRoute[] = [
  page("/portal/{store_id}/start", async ({ localOrigin }) =>
    accept({ title: "Start", main: html`<p>${localOrigin}/v1</p>` }),
  ),
  page("/portal/{store_id}/clock", async (context, view) => {
    const clock = await ask(context, "showClock", { ...view, body: undefined });
    if (!clock.ok) return clock;
    const main = html`<p>${new Date(clock.value.now).toISOString()}</p>
      ${actForm(view, { action: storePath(view, "/clock"), label: "Freeze", fields: { action: "freeze" } })}`;
    return accept({ title: "Clock", main });
  }),
  act("/portal/{store_id}/clock", {
    operation: "moveClock",
    read: (fields) => ({ action: fields.get("action") }),
    leadsTo: (view) => storePath(view, "/clock"),
  }),
];
