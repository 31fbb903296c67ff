import { toIso } from "../../core/clock.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { ADMINISTRATOR_ACTIONS, type AdministratorAction } from "../../core/readiness/names.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Group } from "../command.ts";
import { parseNote, parseCurrency } from "../parsers.ts";
import { table } from "../table.ts";
import type { Remedies } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type ActionOptions = CommonOptions & { readonly note?: string };

type Action = {
  readonly summary: string;
  readonly resultText: string;
  readonly part?: keyof typeof PARTS;
};

const PARTS = {
  capability: { argument: "<name>", hint: "checkout capabilities list shows them" },
  price: { argument: "<id>", hint: "checkout prices list shows the prices" },
} as const;

const ACTIONS: Readonly<Record<AdministratorAction, Action>> = {
  approve_credential: {
    summary: "approve a production credential for the store; v1 still accepts only test credentials",
    resultText: "the production credential is approved",
  },
  revoke_credential: {
    summary: "revoke the approval of the production credential; this also closes an open gate",
    resultText: "the approval of the production credential is revoked, and the production gate is closed",
  },
  activate: {
    summary: "activate the store",
    resultText: "the store is active",
  },
  deactivate: {
    summary: "deactivate the store; it accepts no new orders",
    resultText: "the store is inactive and accepts no new orders",
  },
  enable_capability: {
    summary: "enable a payment method or a currency for the store",
    resultText: "is active",
    part: "capability",
  },
  disable_capability: {
    summary: "disable a payment method or a currency for the store",
    resultText: "is inactive",
    part: "capability",
  },
  approve_price: {
    summary: "approve a price of the store's catalog, so that orders can use it",
    resultText: "is approved",
    part: "price",
  },
  revoke_price: {
    summary: "revoke the approval of a price; new orders cannot use it",
    resultText: "is no longer approved",
    part: "price",
  },
  open_gate: {
    summary:
      "open the store's production gate; requires a production request and an approved production credential",
    resultText:
      "the production gate is open; none of this affects production\n  → checkout checklist shows the items that are still open",
  },
  close_gate: {
    summary: "close the store's production gate",
    resultText: "the production gate is closed",
  },
};

const CHECK_TOKEN_HINT =
  "check CHECKOUT_ADMIN_TOKEN: the token is in admin.json, or was set at the start with CHECKOUT_SANDBOX_ADMIN_TOKEN";
const REMEDIES: Remedies = {
  state_conflict: "checkout checklist shows the status, checkout admin log the actions so far",
  credential_invalid: CHECK_TOKEN_HINT,
  scope_missing: CHECK_TOKEN_HINT,
};

/** These commands use the admin token instead of the control token (decision 49). */
export function registerAdmin(group: Group): void {
  for (const action of ADMINISTRATOR_ACTIONS) {
    const { summary, resultText, part } = ACTIONS[action];
    const name = action.replaceAll("_", "-");
    const [firstExample, secondExample] = part === undefined ? ["", ""] : EXAMPLE_ARGUMENTS[part];
    register<ActionOptions>(group, {
      name: part === undefined ? name : `${name} ${PARTS[part].argument}`,
      summary,
      examples: [
        `checkout admin ${name}${firstExample}`,
        `checkout admin ${name}${secondExample} --note "as agreed with the merchant"`,
      ],
      options: [valueOption("--note <text>", "note for the audit log", parseNote)],
      run: runnerFor("adminAct", {
        body: ({ note }, { argument }) => {
          const subject = part === "capability" ? parseCurrency(argument) : argument;
          return { action, note, ...(part && { subject }) } as RequestOf<"adminAct">;
        },
        remedies: part === undefined ? REMEDIES : { ...REMEDIES, not_found: PARTS[part].hint },
        text: ({ subject }, { style }) =>
          `${style.green("✓")} ${subject === null ? resultText : `${printable(subject)} ${resultText}`}`,
      }),
    });
  }
  register(group, {
    name: "log",
    summary: "print the audit log of administrator actions and merchant requests, oldest first",
    examples: ["checkout admin log", "checkout admin log --json"],
    run: runnerFor("adminLog", {
      remedies: REMEDIES,
      text: ({ acts }, { width }) =>
        acts.length === 0 ? "the audit log is empty" : actionLines(acts, width),
    }),
  });
}

const EXAMPLE_ARGUMENTS = {
  capability: [" wechat_pay", " EUR"],
  price: [" price_coffee", " price_ticket"],
} as const;

function actionLines(acts: AnswerOf<"adminLog">["acts"], width: number): Promise<string> {
  return table(
    ["ACT", "AT", "WHO", "WHAT", "OF", "NOTE"],
    acts.map(({ number, at, actor, action, subject, note }) => [
      number,
      toIso(at),
      actor,
      action,
      subject,
      note,
    ]),
    { width, drop: ["ACT", "WHO"], keep: ["AT", "WHAT"] },
  );
}
