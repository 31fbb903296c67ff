import type { Context } from "../command.ts";
import { callAt } from "../target/call.ts";
import { findControlTarget } from "../target/control.ts";

export type SecretsWithOwner = {
  readonly owner: string;
  readonly endpointId: string | null;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
};

/** Hides the returned secrets in all output. Undefined without a sandbox. */
export async function readSandboxSecrets(context: Context): Promise<readonly SecretsWithOwner[] | undefined> {
  const target = await findControlTarget(context);
  if (target === undefined) return undefined;
  const { signingSecret, name } = await callAt(context, target, { name: "storeAccess", body: undefined });
  const ownerSecrets: SecretsWithOwner[] = [];
  const endpointList = await callAt(context, target, { name: "listEndpoints", body: undefined });
  for (const { id, url } of endpointList.endpoints) {
    const secrets = await callAt(context, target, { name: "showSecret", id, body: undefined });
    ownerSecrets.push({ owner: `the endpoint ${url}`, endpointId: id, ...secrets });
  }
  ownerSecrets.push({
    owner: `the store ${name}`,
    endpointId: null,
    inForce: [signingSecret],
    retired: [],
  });
  for (const { inForce, retired } of ownerSecrets)
    for (const secret of [...inForce, ...retired]) context.printer.hide(secret);
  return ownerSecrets;
}
