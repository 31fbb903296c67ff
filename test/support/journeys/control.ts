import { callEveryOperation } from "../control-calls.ts";
import type { Site } from "./site.ts";

type MadeStore = { readonly store_id: string; readonly api_key: string };

/** Calls every operation of the control API on two new stores; the last operation stops the sandbox. */
export async function walkControl(site: Site): Promise<void> {
  const [one, other] = [
    await site.ask<MadeStore>("stores create --name Controlled"),
    await site.ask<MadeStore>("stores create --name Deleted"),
  ];
  await callEveryOperation({
    stores: [{ id: one.store_id, apiKey: one.api_key }, { id: other.store_id }],
    tokens: { control: site.ready.control_token, administrator: site.adminToken() },
    receiver: site.receiver,
    lacks: new Set(),
    send: ({ body, ...call }) => site.request(body === "" ? call : { ...call, body }),
  });
}
