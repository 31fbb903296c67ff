import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";

export function registerPortalSignOut(group: Group): void {
  register(group, {
    name: "sign-out",
    usesStore: false,
    summary:
      "sign the owner's and the administrator's browsers out of the portal, and revoke unused sign-in links (for a store's links: checkout tokens revoke)",
    examples: ["checkout portal sign-out"],
    run: runnerFor("endPortalSessions", {
      text: ({ ended }) => `${ended === 1 ? "1 browser was" : `${ended} browsers were`} signed out`,
    }),
  });
}
