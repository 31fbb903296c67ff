/** What a create needs. */
export const ORDER = "--order-id o-1 --price-id price_coffee";
const ID = "0199a3c4-5d00-7000-8000-000000000001";
/** Every command that needs a service, as it is typed; ID stands for an id. */
export const COMMANDS: readonly string[] = [
  "sandbox pay ID --outcome succeeded",
  ...["show", "freeze", "advance 1h", "set 2027-01-01T00:00:00Z", "real"].map((a) => `sandbox clock ${a}`),
  `orders create ${ORDER}`,
  `orders create ${ORDER} --dry-run`,
  `sessions create ${ORDER}`,
  "sessions get ID",
  "sessions get ID --wait",
  "orders get ID",
  "orders list",
  "sessions list",
  ...["add http://localhost:3000", "list", "remove http://localhost:3000"].map((a) => `return-origins ${a}`),
  ...["add http://localhost:3000/h", "list", "remove ID", "enable ID", "disable ID", "pause ID"].map(
    (a) => `endpoints ${a}`,
  ),
  ...["test ID", "secret", "rotate-secret ID"].map((a) => `endpoints ${a}`),
  ...["list", "list --wait --timeout 1s", "get ID", "get ID --wait", "replay ID", "replay-failed"].map(
    (a) => `events ${a}`,
  ),
  "portal sign-out",
  "open --print",
  "deliveries list",
  ...["add drop", "list", "remove ID", "clear"].map((a) => `faults ${a}`),
  "requests list",
  "requests get ID",
  "explain ID",
  "checklist",
  "checklist --watch",
  "checklist run webhooks",
  "checklist run idempotency --client-command true",
  "checklist run duplicates",
  "checklist waive duplicates --reason none",
  "checklist run browser-return --return-url http://localhost:3000/thanks",
  "stores show",
  "stores create",
  "stores list",
  "stores use ID",
  "stores delete ID --yes",
  "capabilities list",
  "production request",
  ...["approve-credential", "revoke-credential", "activate", "deactivate"].map((a) => `admin ${a}`),
  ...["enable-capability EUR", "disable-capability EUR", "open-gate", "close-gate", "log"].map(
    (a) => `admin ${a}`,
  ),
  ...["approve-price price_coffee", "revoke-price price_coffee"].map((a) => `admin ${a}`),
  ...["create", "list", "revoke ID"].map((a) => `keys ${a}`),
  "prices add tea --amount-minor 700 --currency EUR --payment-method alipay_plus",
  ...["list", "retire price_coffee"].map((a) => `prices ${a}`),
  "listen",
  "listen --print-secret",
  "trigger order.succeeded",
  "trigger webhook.test",
  "assumptions --used",
  "calibrate --yes",
  "env",
  "config diff",
  "config apply",
  "config export",
  "sandbox logs",
];
/** Commands that ask nobody. */
export const ALONE: readonly string[] = [
  "sandbox start",
  "hosted dev",
  "sandbox wait",
  "sandbox status",
  "sandbox stop",
  "sandbox reset",
  ...["create one", "list", "restore one", "remove one"].map((a) => `snapshots ${a}`),
  "exec",
  "explore",
  "config validate",
  "doctor",
  "webhooks",
  "idempotency",
  "whoami",
  "keys generate",
  ...["bash", "zsh", "fish", "powershell", "uninstall"].map((a) => `completion ${a}`),
  "completion install ksh",
];

/** The words of a row. */
export function words(line: string): string[] {
  return line.replaceAll("ID", ID).split(" ");
}
