import type { Command } from "commander";
import { newApiKey, newSigningSecret } from "../../sandbox/runtime/seed.ts";
import { register, type CommonOptions, type Context, type Registry } from "../command.ts";
import { newToken } from "../folder/state-folder.ts";
import type { Ending } from "../problem.ts";
import { SECRET_VARIABLES, type SecretName } from "./given-secrets.ts";

/** `checkout keys generate`. */
export function registerKeys(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "generate",
    summary: "make secrets for a sandbox that is not there yet: an API key, a signing secret, both tokens",
    examples: ["checkout keys generate > sandbox.env", "checkout keys generate --json"],
    options: [],
    run: runGenerate,
  });
}

/** Makes secrets that `sandbox start` takes from the environment. Nothing is kept, and no sandbox is needed. */
async function runGenerate({ world, printer }: Context): Promise<Ending> {
  const made: Readonly<Record<SecretName, string>> = {
    apiKey: newApiKey(world),
    signingSecret: newSigningSecret(world),
    controlToken: newToken(world, "control"),
    adminToken: newToken(world, "administrator"),
  };
  const json = {
    api_key: made.apiKey,
    signing_secret: made.signingSecret,
    control_token: made.controlToken,
    admin_token: made.adminToken,
  };
  return printer.result(json, () =>
    SECRET_VARIABLES.map(([name, variable]) => `${variable}=${made[name]}`).join("\n"),
  );
}
