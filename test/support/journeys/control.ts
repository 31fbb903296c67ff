import { callEveryOperation } from "../control-calls.ts";
import type { Site } from "./site.ts";

type MadeStore = { readonly store_id: string; readonly api_key: string };

/** Every operation of the control API, about two new stores. The last one stops the sandbox. */
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
