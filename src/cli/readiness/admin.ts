import { toIso } from "../../core/clock.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Group } from "../command.ts";
import { parseNote, parseCurrency } from "../parsers.ts";
import { table } from "../table.ts";
import type { Remedies } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type ActionOptions = CommonOptions & { readonly note?: string };

type Action = {
  readonly name: string;
  readonly summary: string;
  readonly request: (subject: string) => RequestOf<"adminAct">;
  readonly done: string;
  /** The hint for finding the argument. Default: the action has no argument. */
  readonly find?: string;
};

const FIND_CAPABILITY = "checkout capabilities list shows them";
const FIND_PRICE = "checkout prices list shows the prices";

const ACTIONS: readonly Action[] = [
  {
    name: "approve-credential",
    summary: "approve a production credential for the store; v1 still accepts only test credentials",
    request: () => ({ action: "approve_credential" }),
    done: "the production credential is approved",
  },
  {
    name: "revoke-credential",
    summary: "revoke the approval of the production credential; this also closes an open gate",
    request: () => ({ action: "revoke_credential" }),
    done: "the approval of the production credential is revoked, and the production gate is closed",
  },
  {
    name: "activate",
    summary: "activate the store",
    request: () => ({ action: "activate" }),
    done: "the store is active",
  },
  {
    name: "deactivate",
    summary: "deactivate the store; it accepts no new orders",
    request: () => ({ action: "deactivate" }),
    done: "the store is inactive and accepts no new orders",
  },
  {
    name: "enable-capability <name>",
    summary: "enable a payment method or a currency for the store",
    request: (subject) => ({ action: "enable_capability", subject: parseCurrency(subject) }),
    done: "is active",
    find: FIND_CAPABILITY,
  },
  {
    name: "disable-capability <name>",
    summary: "disable a payment method or a currency for the store",
    request: (subject) => ({ action: "disable_capability", subject: parseCurrency(subject) }),
    done: "is inactive",
    find: FIND_CAPABILITY,
  },
  {
    name: "approve-price <id>",
    summary: "approve a price of the store's catalog, so that orders can use it",
    request: (subject) => ({ action: "approve_price", subject }),
    done: "is approved",
    find: FIND_PRICE,
  },
  {
    name: "revoke-price <id>",
    summary: "revoke the approval of a price; new orders cannot use it",
    request: (subject) => ({ action: "revoke_price", subject }),
    done: "is no longer approved",
    find: FIND_PRICE,
  },
  {
    name: "open-gate",
    summary: "open the store's production gate, after production was requested and its credential approved",
    request: () => ({ action: "open_gate" }),
    done: "the production gate is open; none of this affects production\n  → checkout checklist shows the items that are still open",
  },
  {
    name: "close-gate",
    summary: "close the store's production gate",
    request: () => ({ action: "close_gate" }),
    done: "the production gate is closed",
  },
];

const CHECK_TOKEN =
  "check CHECKOUT_ADMIN_TOKEN: the token is in admin.json, or was set at the start with CHECKOUT_SANDBOX_ADMIN_TOKEN";
const NEXT_AFTER: Remedies = {
  state_conflict: "checkout checklist shows the status, checkout admin log the actions so far",
  credential_invalid: CHECK_TOKEN,
  scope_missing: CHECK_TOKEN,
};

/** `checkout admin …`: actions of the service's administrator, who has a separate token (decision 49). */
export function registerAdmin(group: Group): void {
  for (const { name, summary, request, done, find } of ACTIONS) {
    register<ActionOptions>(group, {
      name,
      summary,
      examples: [
        `checkout admin ${exampleOf(name, ["wechat_pay", "price_coffee"])}`,
        `checkout admin ${exampleOf(name, ["EUR", "price_ticket"])} --note "as agreed with the merchant"`,
      ],
      options: [valueOption("--note <text>", "note for the audit log", parseNote)],
      run: runnerFor("adminAct", {
        body: ({ note }, { argument }) => ({ ...request(argument), note }),
        nextAfter: find === undefined ? NEXT_AFTER : { ...NEXT_AFTER, not_found: find },
        text: (_answer, { style }, { argument }) => {
          const wanted = request(argument);
          return `${style.green("✓")} ${"subject" in wanted ? `${printable(wanted.subject)} ${done}` : done}`;
        },
      }),
    });
  }
  register(group, {
    name: "log",
    summary: "print the audit log of administrator actions and merchant requests, oldest first",
    examples: ["checkout admin log", "checkout admin log --json"],
    run: runnerFor("adminLog", {
      nextAfter: NEXT_AFTER,
      text: ({ acts }, { width }) =>
        acts.length === 0 ? "the audit log is empty" : actionLines(acts, width),
    }),
  });
}

function exampleOf(name: string, [capability, price]: readonly [string, string]): string {
  return name.replace("<name>", capability).replace("<id>", price);
}

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
