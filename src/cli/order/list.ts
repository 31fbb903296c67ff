import { STATUSES } from "../../core/checkout/checkout.ts";
import { toIso } from "../../core/clock.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { describeLastChange, lastChangeText } from "../../core/explain/last.ts";
import { formatAmount } from "../../core/money.ts";
import { isLoopback } from "../../core/loopback.ts";
import { redactKey } from "../../core/credential.ts";
import { printable, printableLiteral, displayText, shortId } from "../../core/text.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Context, type Group } from "../command.ts";
import { choiceParser, limitOption } from "../parsers.ts";
import { nextPageText } from "../printer.ts";
import { ORDER_LABELS, SESSION_LABELS, type CheckoutKind } from "./checkout-kinds.ts";
import { EXIT, Refused, refuseUsage } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { requireControlTarget } from "../target/control.ts";
import { findId } from "../target/ids.ts";
import { surroundingsForOrigin, type ServiceOptions } from "../target/surroundings.ts";
import { table, type TableStyle } from "../table.ts";
import { serviceOptions } from "../target/options.ts";

type ListOptions = ServiceOptions &
  Pick<RequestOf<"listCheckouts">, "status" | "orderId" | "limit" | "before"> & { readonly search?: string };

export function registerOrdersList(group: Group): void {
  registerList(group, ORDER_LABELS);
}

export function registerSessionsList(group: Group): void {
  registerList(group, SESSION_LABELS);
}

function registerList(group: Group, { object, command }: CheckoutKind): void {
  register<ListOptions>(group, {
    name: "list",
    summary: `list the store's ${command}, newest first`,
    examples: [
      `checkout ${command} list`,
      `checkout ${command} list --status pending --limit 10`,
      `checkout ${command} list --order-id order-1001 --json`,
      `checkout ${command} list --search tea`,
    ],
    options: [
      valueOption(
        "--status <status>",
        `only ${command} with this status: ${STATUSES.join(", ")}`,
        choiceParser(STATUSES),
      ),
      valueOption("--order-id <id>", `only ${command} with this order_id`),
      valueOption("--search <text>", `only ${command} whose order_id or description contains this text`),
      limitOption(command, { most: 200, fallback: 50 }),
      valueOption("--before <id|order_id>", `only ${command} created before this one, for the next page`),
      ...serviceOptions(),
    ],
    run: runnerFor("listCheckouts", {
      target: (context) => findListingSandbox(context, command),
      body: async ({ status, orderId, limit, before, search }, { context, target }) => ({
        object,
        q: search,
        status,
        orderId,
        limit,
        before: await findId(context, "checkout", before, target),
      }),
      remedies: { session_not_found: `to start with the newest: checkout ${command} list` },
      text: async (list, printer, { context }) => {
        const { checkouts, nextBefore: cursor, searched, searchedBackTo } = list;
        const rows =
          checkouts.length === 0 ? emptyListText(command, list) : await checkoutLines(list, printer);
        const refusedLines = list.refused.map(refusedOrderLine);
        const searchText =
          searched === null || searchedBackTo === null
            ? ""
            : `searched the newest ${searched}, back to ${toIso(searchedBackTo)}; `;
        return [rows, ...refusedLines].join("\n") + nextPageText(context, { cursor, searchText });
      },
    }),
  });
}

function emptyListText(command: string, { searched }: AnswerOf<"listCheckouts">): string {
  return searched === null ? `no matching ${command}` : `no matching ${command} among the newest ${searched}`;
}

function refusedOrderLine(refused: AnswerOf<"listCheckouts">["refused"][number]): string {
  const { orderId, requestId, status, code, count } = refused;
  const times = count === 1 ? "" : ` ${count} times`;
  const reasonText = `${status}${code === null ? "" : ` ${code}`}`;
  return printable(`refused${times}: ${displayText(orderId)} (${reasonText}); checkout explain ${requestId}`);
}

export function checkoutLines(
  { checkouts, now }: Pick<AnswerOf<"listCheckouts">, "checkouts" | "now">,
  { width, style }: TableStyle,
): Promise<string> {
  return table(
    ["ID", "STATUS", "AMOUNT", "ORDER ID", "LAST", "CREATED", "METHOD"],
    checkouts.map((row) => [
      shortId(row.id),
      row.status,
      formatAmount(row.amountMinor, row.currency),
      row.orderId,
      [describeLastChange(row.last), lastChangeText(row.last, now)].filter((text) => text !== "").join(" · "),
      toIso(row.createdAt),
      row.paymentMethod,
    ]),
    { width, style, cut: ["LAST"], drop: ["METHOD", "CREATED", "LAST"] },
  );
}

/** Refuses with exit 2 if the options or the environment name another service, because v1 has no lists. */
export async function findListingSandbox(context: Context, noun: string): Promise<ControlTarget> {
  const { baseUrl, target: name } = context.around.options;
  const url = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  // Shows only the host, because the address may contain a password. An invalid address is refused later.
  const host = url === undefined || isLoopback(url.hostname) ? "" : url.host;
  const service = name === undefined ? host : printableLiteral(name);
  if (service === "") return selectStoreOfKey(context, await requireControlTarget(context));
  const message = `only a sandbox lists ${noun}; the interface of ${service} has no list`;
  throw refuseUsage(message, "to retrieve a single one from a service: checkout sessions get <id>");
}

/** Without a named store, finds the key's store by the last four characters, because no list shows whole keys. */
export async function selectStoreOfKey(context: Context, target: ControlTarget): Promise<ControlTarget> {
  const { apiKey } = surroundingsForOrigin(context.around, target.origin);
  if (apiKey === undefined || target.storeId !== undefined) return target;
  const { stores } = await callAt(context, target, { name: "listStores", body: undefined });
  const keyLastFour = apiKey.value.slice(-4);
  for (const { storeId } of stores) {
    const storeTarget = { ...target, storeId };
    const { keys } = await callAt(context, storeTarget, { name: "listKeys", body: undefined });
    if (keys.some(({ lastFour }) => lastFour === keyLastFour)) return storeTarget;
  }
  throw new Refused({
    exitCode: EXIT.credential,
    code: "credential_invalid",
    message: `CHECKOUT_API_KEY (${redactKey(apiKey.value)}) is not a key of this sandbox, so the store cannot be determined`,
    next: 'name the store with --store, unset CHECKOUT_API_KEY, or eval "$(checkout env)"',
  });
}
