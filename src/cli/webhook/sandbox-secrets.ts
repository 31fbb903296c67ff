import { accept, type Outcome } from "../../core/outcome.ts";
import type { Context } from "../command.ts";
import type { Problem } from "../problem.ts";
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
export async function sandboxSecrets(
  context: Context,
): Promise<Outcome<readonly SecretsOf[] | undefined, Problem>> {
  const sandbox = sandboxIn(context);
  if (!sandbox.ok || sandbox.value === undefined) return sandbox.ok ? accept(undefined) : sandbox;
  const target = await inStore(context, sandbox.value);
  if (!target.ok) return target;
  const access = await callAt(context, target.value, { name: "storeAccess", body: undefined });
  if (!access.ok) return access;
  const { signingSecret, name } = access.value;
  const found: SecretsOf[] = [];
  const listed = await callAt(context, target.value, { name: "listEndpoints", body: undefined });
  if (!listed.ok) return listed;
  for (const { id, url } of listed.value.endpoints) {
    const secrets = await callAt(context, target.value, { name: "showSecret", id, body: undefined });
    if (!secrets.ok) return secrets;
    found.push({ owner: `the endpoint ${url}`, endpointId: id, ...secrets.value });
  }
  found.push({ owner: `the store ${name}`, endpointId: null, inForce: [signingSecret], retired: [] });
  for (const { inForce, retired } of found)
    for (const secret of [...inForce, ...retired]) context.printer.hide(secret);
  return accept(found);
}
