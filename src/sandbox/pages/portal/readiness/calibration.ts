import { verdictsOf, type Calibration } from "../../../../core/calibration/calibration.ts";
import { html, type Html } from "../../../../web/html.ts";
import { ageOf } from "../parts.ts";
import type { PortalContext } from "../view.ts";
import { LAUNCH_TEXTS } from "./texts.ts";

/** Its service, its age, and the number of each verdict; empty if there is none. */
export function calibrationNotice(record: Calibration | undefined, { world }: PortalContext): Html {
  if (record === undefined) return html``;
  const { confirmed, contradicted, not_observed: unobserved } = verdictsOf(record);
  const counts = LAUNCH_TEXTS.verdictCounts([confirmed.length, contradicted.length, unobserved.length]);
  // By this machine's clock, which also dated the calibration.
  return html`<p>
    ${LAUNCH_TEXTS.calibratedWith(record.service)} ${ageOf(Date.parse(record.at), world.now())} · ${counts}
  </p>`;
}
