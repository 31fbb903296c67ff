import type { Option } from "commander";
import type { ServiceTarget } from "../../client/api/client.ts";
import type { ProbeOptions } from "../../client/calibration/calibrate.ts";
import { awaitPayment } from "../../client/calibration/payment.ts";
import { createCalibrationReceiver } from "../../client/calibration/receiver.ts";
import { WEBHOOK_PATH, RETURN_PATH, type PaymentEvidence } from "../../core/calibration/payment.ts";
import {
  checkoutInAnswer,
  FIRST_PROBE,
  probeOrderId,
  type ProbeAnswers,
} from "../../core/calibration/probes.ts";
import { allowedHosts, LOOPBACK_NAMES } from "../../core/loopback.ts";
import { printable } from "../../core/text.ts";
import { portFailure } from "../../host/listen.ts";
import { listOption, switchOption, valueOption, type Context } from "../command.ts";
import { parseHost, wholeNumberParser } from "../parsers.ts";
import { problemOf, Refused } from "../problem.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { refuseInvalidSecrets, findSigningSecrets, secretOption } from "../webhook/signing-secrets.ts";

export type PayerOptions = CommonOptions & {
  readonly withPayer?: boolean;
  readonly port?: number;
  readonly allowHost?: readonly string[];
  readonly secretFile?: string;
};

/** A fixed port, because the receiver's URL stays registered with the service between runs. */
const DEFAULT_PORT = 4300;
const IDLE_TIMEOUT_MS = 30_000;
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 64;
const DRAIN_TIMEOUT_MS = 500;

export function payerOptions(): Option[] {
  return [
    switchOption(
      "--with-payer",
      "also print the order's checkout_url, wait until you have paid there, and compare the events that this command receives",
    ),
    valueOption(
      "--port <port>",
      {
        text: "port on which this command receives events, on this machine only",
        default: String(DEFAULT_PORT),
      },
      wholeNumberParser(0, 65_535),
    ),
    listOption(
      "--allow-host <host>",
      "additional Host header to accept with events, such as a tunnel's: HOST or HOST:PORT (repeatable)",
      parseHost,
    ),
    secretOption(),
  ];
}

export type PaymentReceiver = Awaited<ReturnType<typeof openPaymentReceiver>>;

export async function openPaymentReceiver(context: Context, options: PayerOptions, runId: string) {
  const { world, printer } = context;
  const { port: requestedPort = DEFAULT_PORT, allowHost: addedHosts = [] } = options;
  const secrets = (await findSigningSecrets(context, options)) ?? [];
  if (secrets.length > 0) refuseInvalidSecrets(secrets);
  const receiver = createCalibrationReceiver(world, probeOrderId(runId));
  const outcome = await world.listen(
    (port) => receiver.serviceFor(allowedHosts(port, { flag: "--allow-host", hosts: addedHosts })),
    {
      port: requestedPort,
      limits: { bodyBytes: MAX_BODY_BYTES, connections: MAX_CONNECTIONS, silenceMs: IDLE_TIMEOUT_MS },
    },
  );
  if (!outcome.ok) throw new Refused(problemOf(portFailure(world, requestedPort, outcome.refusal)));
  const { port, close } = outcome.value;
  const instructions = instructionsFor(`http://${LOOPBACK_NAMES[0]}:${port}`, secrets.length > 0);
  return {
    instructions,
    observe: async (
      target: ServiceTarget,
      answers: ProbeAnswers,
      probeOptions: ProbeOptions,
    ): Promise<PaymentEvidence> => {
      const { checkout_url: url } = checkoutInAnswer(answers.get(FIRST_PROBE));
      // Printed even with `--json`, because the payer needs the address.
      printer.trace(`pay the order: ${printable(String(url))}\n${instructions}`);
      const payment = await awaitPayment(world, target, { ...probeOptions, answers, receiver });
      return { ...payment, secrets };
    },
    [Symbol.asyncDispose]: () => close(DRAIN_TIMEOUT_MS),
  };
}

function instructionsFor(origin: string, hasSecret: boolean): string {
  return [
    "the service must know these addresses, or the addresses of a tunnel to them:",
    `  webhook endpoint  ${origin}${WEBHOOK_PATH}`,
    `  return address    ${origin}${RETURN_PATH}`,
    "after the payment, follow the link back to the shop",
    ...(hasSecret ? [] : ["without --secret-file no signature is verified"]),
  ].join("\n");
}
