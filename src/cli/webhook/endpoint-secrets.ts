import { encodeAnswer, isRequestOf } from "../../core/control/operations.ts";
import { DEFAULT_OVERLAP_MS } from "../../core/control/operations/webhook.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import {
  invalidDuration,
  optionParser,
  register,
  valueOption,
  type Context,
  type Group,
} from "../command.ts";
import { choiceParser } from "../parsers.ts";
import { fieldLines, secretText } from "../printer.ts";
import { findId } from "../target/ids.ts";
import { Refused, refuseUsage } from "../problem.ts";
import { ENDPOINT_REMEDIES } from "./deliveries.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { parseDurationText, durationText } from "../../core/duration.ts";
import { output } from "../output/output.ts";

type RotateOptions = CommonOptions & { readonly overlap?: Overlap };
type SecretOptions = CommonOptions & { readonly format?: "env" };

const VARIABLE = "CHECKOUT_SIGNING_SECRET";

type Overlap = { readonly text: string; readonly milliseconds: number };

const DEFAULT_OVERLAP: Overlap = { text: "24h", milliseconds: DEFAULT_OVERLAP_MS };

export function registerEndpointSecrets(group: Group): void {
  register<RotateOptions>(group, {
    name: "rotate-secret <id>",
    summary: "rotate an endpoint's signing secret; the old secret also signs during the overlap",
    examples: ["checkout endpoints rotate-secret <id>", "checkout endpoints rotate-secret <id> --overlap 0s"],
    options: [
      valueOption(
        "--overlap <duration>",
        { text: "how long the old secret also signs, 0s to 30d", default: durationText(DEFAULT_OVERLAP_MS) },
        parseOverlap,
      ),
    ],
    run: runnerFor("rotateSecret", {
      idKind: "endpoint",
      body: ({ overlap = DEFAULT_OVERLAP }) => ({ overlapMs: overlap.milliseconds }),
      json: (wireSecret, { inForce: [secret = null] }, { id }) =>
        output("endpoint_secret", { endpoint_id: id, signing_secret: secret, ...wireSecret }),
      text: ({ inForce }, printer, { id, options: { overlap = DEFAULT_OVERLAP } }) =>
        fieldLines([
          ["signing_secret", secretText(printer, inForce[0] ?? "", `checkout endpoints secret ${id}`)],
          ["old_secret", overlap.milliseconds === 0 ? "is no longer used" : `also signs for ${overlap.text}`],
          ["active", inForce.length],
        ]),
    }),
  });
  register<SecretOptions>(group, {
    name: "secret [id]",
    summary: "print just the signing secret of an endpoint (default: the store's only endpoint)",
    examples: [
      "checkout endpoints secret",
      "checkout endpoints secret <id> --format env >> .env",
      "checkout endpoints secret | checkout webhooks sign --payload-file body.json --secret-file -",
    ],
    options: [
      valueOption(
        "--format <format>",
        { text: `output format: env, for ${VARIABLE}=<secret>`, default: "only the secret" },
        choiceParser(["env"]),
      ),
    ],
    run: runSecret,
  });
}

async function runSecret(context: Context, options: SecretOptions, text?: string): Promise<number> {
  const id = text === undefined ? await findOnlyEndpoint(context) : await findId(context, "endpoint", text);
  const shownSecret = await callSandbox(context, {
    name: "showSecret",
    id,
    body: undefined,
    remedies: ENDPOINT_REMEDIES,
  });
  const [secret = ""] = shownSecret.inForce;
  const { store_time: _, ...secrets } = encodeAnswer("showSecret", shownSecret);
  const json = output("endpoint_secret", { endpoint_id: id, signing_secret: secret, ...secrets });
  return context.printer.result(json, () => (options.format === "env" ? `${VARIABLE}=${secret}` : secret));
}

/** Uses an endpoint of `listen` only if there is no other endpoint. Refuses several, and names them. */
async function findOnlyEndpoint(context: Context): Promise<string> {
  const { endpoints } = await callSandbox(context, { name: "listEndpoints", body: undefined });
  const urlEndpoints = endpoints.filter(({ kind }) => kind === "url");
  const [onlyEndpoint, ...tail] = urlEndpoints.length === 0 ? endpoints : urlEndpoints;
  if (onlyEndpoint === undefined) {
    const next = "add one: checkout endpoints add http://localhost:3000/hooks";
    throw new Refused({ code: "no_endpoint", message: "there is no endpoint", next });
  }
  if (tail.length === 0) return onlyEndpoint.id;
  const knownEndpoints = [onlyEndpoint, ...tail].map(({ id, url }) => `${id} (${printable(url)})`).join(", ");
  const message = `there are ${tail.length + 1} endpoints; name one of them: ${knownEndpoints}`;
  throw refuseUsage(message, `checkout endpoints secret ${onlyEndpoint.id}`);
}

const parseOverlap = optionParser(
  "a duration from 0s to 30d",
  (text): Overlap | undefined => {
    const milliseconds = /^0(ms|s|m|h|d)?$/.test(text) ? 0 : parseDurationText(text);
    return milliseconds !== undefined && isRequestOf("rotateSecret", { overlapMs: milliseconds })
      ? { text, milliseconds }
      : undefined;
  },
  invalidDuration,
);
