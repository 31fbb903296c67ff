import type { Context } from "../command.ts";
import { callAt } from "../target/call.ts";
import { sandboxIn, inStore } from "../target/control.ts";

/** Signing secrets that belong together, and whose they are: `the endpoint http://localhost:3000/hooks`. */
export type SecretsOf = {
  readonly owner: string;
  /** Null: the store's. */
  readonly endpointId: string | null;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
};

/**
 * The signing secrets of a store of the live sandbox: those of its endpoints, then its own, which its first endpoint
 * has too; undefined where no sandbox runs. None of them is printed from now on.
 */
export async function sandboxSecrets(context: Context): Promise<readonly SecretsOf[] | undefined> {
  const sandbox = sandboxIn(context);
  if (sandbox === undefined) return undefined;
  const target = await inStore(context, sandbox);
  const { signingSecret, name } = await callAt(context, target, { name: "storeAccess", body: undefined });
  const found: SecretsOf[] = [];
  const listed = await callAt(context, target, { name: "listEndpoints", body: undefined });
  for (const { id, url } of listed.endpoints) {
    const secrets = await callAt(context, target, { name: "showSecret", id, body: undefined });
    found.push({ owner: `the endpoint ${url}`, endpointId: id, ...secrets });
  }
  found.push({ owner: `the store ${name}`, endpointId: null, inForce: [signingSecret], retired: [] });
  for (const { inForce, retired } of found)
    for (const secret of [...inForce, ...retired]) context.printer.hide(secret);
  return found;
}
