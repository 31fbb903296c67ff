import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { refusalOfLine } from "../../src/cli/hints/follow.ts";
import { realWorld } from "../../src/world/real.ts";
import { createHarness, type CommandOptions, type Result } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import { didYouMean } from "../../src/cli/hints/equivalents.ts";
import { hintForIds, noMatchText } from "../../src/cli/target/ids.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { KEY_FAULTS } from "../../src/core/refusals.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";

/** A command line of a first hour, its exit code, and its output, which is on stdout if the code is 0. */
type Row = readonly [line: string, code: number, says: RegExp];

/** Matches the suggestion of these commands or options. */
const mean = (...lines: readonly string[]): RegExp => inOrder(didYouMean(lines));

/** Matches an amount with its number of minor units. */
const inAmount = (amount: string, minor: string): RegExp => inOrder(`: ${amount} `, ` ${minor}`);

/** Words that stand for ids in a row; a short id is the last 8 characters. */
type Ids = Readonly<Record<string, string>>;

const WITHOUT_SANDBOX: readonly Row[] = [
  // Names of inherited object properties are not commands or arguments.
  ["constructor", 2, /unknown command 'constructor'\n/],
  ["checklist run constructor", 2, /too many arguments.*constructor/],
  ["orders constructor", 2, /unknown command 'constructor'\n/],
  ["sandbox toString valueOf", 2, /unknown command 'toString'\n/],
  ["orders list --constructor", 2, /unknown option '--constructor'\n/],
  ["orders list -constructor", 2, /unknown option '-c'\n/],
  ["__proto__ list", 2, /unknown command '__proto__'\n/],
  // Help and version, in every spelling.
  ["help", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["--help", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["-h", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["help help", 0, /^Usage: checkout \[options\] \[command\]\n/],
  ["help orders", 0, /^Usage: checkout orders \[options\] \[command\]\n/],
  ["orders help", 0, /^Usage: checkout orders \[options\] \[command\]\n/],
  ["orders --help", 0, /^Usage: checkout orders \[options\] \[command\]\n/],
  ["help orders create", 0, /^Usage: checkout orders create \[options\]\n/],
  ["orders help create", 0, /^Usage: checkout orders create \[options\]\n/],
  ["orders create --help", 0, /^Usage: checkout orders create \[options\]\n/],
  ["orders create -h", 0, /^Usage: checkout orders create \[options\]\n/],
  ["--help orders create", 0, /^Usage: checkout orders create \[options\]\n/],
  ["help sandbox clock advance", 0, /^Usage: checkout sandbox clock advance /],
  ["sandbox help clock", 0, /^Usage: checkout sandbox clock /],
  ["help checklist", 0, /^Usage: checkout checklist /],
  ["help checklist run webhooks", 0, /^Usage: checkout checklist run webhooks /],
  ["help listen", 0, /^Usage: checkout listen /],
  ["help exec", 0, /^Usage: checkout exec /],
  ["help nonsense", 2, /unknown command 'nonsense'/],
  ["nonsense --help", 2, /unknown command 'nonsense'/],
  ["orders nonsense --help", 2, /unknown command 'nonsense'/],
  ["start", 2, inOrder("'start'", mean("sandbox start"), /\n.*checkout sandbox start(?! --help)/)],
  ["help status", 2, mean("sandbox status")],
  ["logs", 2, mean("sandbox logs")],
  ["pay PAID", 2, /→ checkout sandbox pay PAID$/m],
  ["clock advance 2h", 2, mean("sandbox clock advance")],
  ["create order", 2, mean("orders create")],
  ["list orders", 2, mean("orders list")],
  ["show orders", 2, mean("orders get")],
  ["webhook verify", 2, mean("webhooks verify")],
  ["orders new", 2, mean("orders create")],
  ["keys delete K", 2, mean("keys revoke")],
  ["orders create --price-id price_coffee --order-id --wait", 2, /'--order-id <id>'/],
  ["orders create --order-id --price-id price_coffee", 2, /'--order-id <id>'/],
  ["orders list -json", 2, mean("--json")],
  ["orders create --amount 1999", 2, mean("--amount-minor")],
  ["sandbox clock advance -1h", 2, inOrder("-1…", "checkout sandbox clock set <time>")],
  [
    "orders create order-5",
    2,
    /: order-5\.\n {2}→ checkout orders create --order-id order-5 --price-id price_coffee$/m,
  ],
  ["orders create help", 0, /^Usage: checkout orders create/],
  ["webhooks verify --body x", 2, mean("--payload-file")],
  ["webhooks sign --data x", 2, mean("--payload-file")],
  ["webhooks verify --headers x", 2, mean("--timestamp", "--signature")],
  ["webhooks verify --secret x", 2, mean("--secret-file")],
  ["orders list --json=true", 2, /--json [^\n]*\n {2}→ checkout orders list --help$/m],
  ["orders list --no-color=1", 2, /--no-color [^\n]*\n {2}→ checkout orders list --help$/m],
  ["sandbox run", 2, inOrder("unknown command 'run'", mean("sandbox start"))],
  // The whole corrected line.
  ["sandbox clock advance 2 months", 2, /→ checkout sandbox clock advance --help$/m],
  ["checklist run --settle 3 s", 2, /→ checkout checklist run --settle 3s$/m],
  ["checklist --run", 2, /→ checkout checklist run$/m],
  // The suggested line is parsed and not run, even if the value of an option has the name of a subcommand.
  ["checklist --endpoint webhooks", 2, /^✗ [^✗]*→ checkout checklist run --endpoint webhooks$/m],
  ["checklist --only webhooks", 2, /→ checkout checklist run webhooks$/m],
  ["checklist --only plain_purchase", 2, /→ checkout checklist run --only plain_purchase$/m],
  ["checklist --serve shop --quick", 2, /→ checkout checklist run --serve shop --quick$/m],
  ["shop init --serve shop", 2, /→ checkout shop init .*: checkout checklist run --serve shop$/m],
  ["shop init --nonsense x", 2, /→ checkout shop init --help$/m],
  ["shop test", 2, /→ checkout shop check$/m],
  [
    "webhooks verify body.json",
    2,
    /→ checkout webhooks verify --payload-file body\.json --timestamp <timestamp> --signature <signature>$/m,
  ],
  ["webhooks sign body.json", 2, /→ checkout webhooks sign --payload-file body\.json$/m],
  [
    "webhook resend order-1",
    2,
    /→ checkout events list --order-id order-1 .*; checkout events replay <event_id>$/m,
  ],
  ["webhook resend 00000009", 2, /→ checkout events replay 00000009$/m],
  ["order order-1", 2, /→ checkout orders get order-1$/m],
  ["orders order-1", 2, /→ checkout orders get order-1$/m],
  ["order nonsense", 2, /→ checkout orders --help$/m],
  ["event 00000009", 2, /→ checkout events get 00000009$/m],
  ["delivery 00000009", 2, /→ checkout explain 00000009$/m],
  ["endpoint 00000009", 2, /→ checkout deliveries list --endpoint 00000009$/m],
  ["state save before", 2, /→ checkout snapshots create before$/m],
  ["state load before", 2, /→ checkout snapshots restore before$/m],
  ["sandbox pay order-1 decline", 2, /→ checkout sandbox pay order-1 --outcome declined$/m],
  ["orders pay order-1 failed", 2, /→ checkout sandbox pay order-1 --outcome failed$/m],
  ["pay order-1 nonsense", 2, /→ checkout sandbox pay --help$/m],
  ["sandbox start detach", 2, /→ checkout sandbox start --detach$/m],
  ["sandbox start background", 2, /→ checkout sandbox start --detach$/m],
  ["sandbox start port 4300", 2, /→ checkout sandbox start --port 4300$/m],
  ["orders list status paid", 2, /→ checkout orders list --status succeeded$/m],
  ["orders list --status paid", 2, /→ checkout orders list --status succeeded$/m],
  ["orders list --status=canceled --limit 5", 2, /→ checkout orders list --status cancelled --limit 5$/m],
  ["orders list --status nonsense", 2, /→ checkout orders list --help$/m],
  ["events list --type succeeded", 2, /→ checkout events list --type order\.succeeded$/m],
  ["events list --type session.paid", 2, /→ checkout events list --type checkout_session\.succeeded$/m],
  ["deliveries retry order-1", 2, /→ checkout deliveries retry --order-id order-1$/m],
  ["orders create order-1 --price-id p", 2, /→ checkout orders create --order-id order-1 --price-id p$/m],
  ["orders create --description wait here", 2, /→ put a value with spaces in quotes$/m],
  ["events list 2026-01-01", 2, /→ checkout events list --help$/m],
  ["keys create --scope orders:write", 2, /→ checkout keys create --scopes orders:write$/m],
  ["sandbox reset --yess", 2, /→ checkout sandbox reset --help$/m],
  ["events list 10m", 2, /→ checkout events list --help$/m],
  ["webhook resend all", 2, /→ checkout events list shows .*; checkout events replay <event_id>$/m],
  ["production approve", 2, /→ checkout admin approve-credential$/m],
  ["keys --scopes orders:write", 2, /→ checkout keys create --scopes orders:write$/m],
  ["keys list --scopes", 2, /an option of keys create\n {2}→ checkout keys create --help$/m],
  // Habits from other tools.
  ["login", 2, inOrder("'login'\n", "; checkout sandbox start ", " checkout env ")],
  ["init", 2, inOrder("'init'\n", ": checkout sandbox start ", " checkout shop init ")],
  ["update", 2, inOrder("'update'\n", "; checkout --version ")],
  ["upgrade", 2, inOrder("'upgrade'\n", "; checkout --version ")],
  ["man orders", 2, inOrder("'man'\n", "; checkout help <command> ")],
  ["webhooks listen", 2, /unknown command 'listen'\n.*checkout listen$/m],
  [
    "webhooks listen --forward-to localhost:3000/hooks",
    2,
    /'listen'\n.*checkout listen --forward http:\/\/localhost:3000\/hooks$/m,
  ],
  [
    "listen --forward-to localhost:3000/hooks",
    2,
    /'--forward-to'\n.*checkout listen --forward http:\/\/localhost:3000\/hooks$/m,
  ],
  ["http 3000", 2, /'http'\n.*checkout listen --forward http:\/\/localhost:3000\/hooks$/m],
  ["http localhost:3000", 2, /'http'\n.*checkout listen --forward http:\/\/localhost:3000$/m],
  // Nouns of this service and of other services, which lead to the right command instead of a similarly spelt command.
  ["checkouts list", 2, mean("orders list", "sessions list")],
  ["checkout list", 2, mean("orders list", "sessions list")],
  ["checkouts retrieve cs_123", 2, /→ checkout sessions get cs_123$/m],
  ["checkouts create", 2, /→ checkout sessions create$/m],
  ["checkouts get", 2, inOrder("'checkouts'", mean("sessions get"))],
  ["checkout orders list", 2, /→ checkout orders list$/m],
  ["payments retrieve pi_1", 2, /→ checkout orders get pi_1$/m],
  ["order show o-1", 2, /→ checkout orders get o-1$/m],
  // An option with the name that another tool uses: the corrected line keeps its value.
  ["events list -n 5", 2, inOrder("'-n'", mean("--limit"), "→ checkout events list --limit 5")],
  ["events list -n5", 2, inOrder("'-n'", mean("--limit"), "→ checkout events list --limit 5")],
  ["--dir x sessions list --max=5", 2, /→ checkout --dir x sessions list --limit 5$/m],
  ["sandbox start --host 0.0.0.0", 2, /→ checkout sandbox start --listen 0\.0\.0\.0$/m],
  ["sandbox start --listen 0.0.0.0:8025", 2, /→ checkout sandbox start --listen 0\.0\.0\.0 --port 8025$/m],
  ["get /v1/orders", 2, inOrder("'get'\n", "→ checkout env ", " checkout orders ")],
  ["POST /v1/orders", 2, inOrder("'POST'\n", "→ checkout env ", " checkout orders ")],
  ["delete /v1/orders/1", 2, inOrder("'delete'\n", "→ checkout env ", " checkout orders ")],
  ["request GET /v1/orders", 2, inOrder("'request'\n", "→ checkout env ", " checkout orders ")],
  ["-X POST /v1/orders -d {}", 2, inOrder("'-X'\n", "→ checkout env ", " checkout orders ")],
  ["-H a:b http://localhost:4242", 2, inOrder("'-H'\n", "→ checkout env ", " checkout orders ")],
  ["collection run x.json", 2, /'collection'\n.*docs\/scenarios\.md/],
  ["start --port 4300", 2, /'start'\n.*→ checkout sandbox start --port 4300$/m],
  ["listen -H a:b", 2, inOrder(mean("--header"), "→ checkout listen --header a:b")],
  ["mock", 2, mean("sandbox start")],
  ["run", 2, inOrder("'run'\n", "checkout exec -- npm test ", " checkout checklist run ")],
  ["mcp start", 2, /→ checkout mcp$/m],
  ["whoami --base-url localhost:4242", 2, inOrder('"localhost:4242"\n', " http://localhost:4242/v1;")],
  ["whoami --base-url http://me:word@localhost:4242", 2, /^(?!.*me:word)[^\n]*--base-url/s],
  ["events tail", 2, mean("listen")],
  ["webhook add http://localhost:3000/hooks", 2, mean("endpoints add")],
  ["sandbox restart", 2, inOrder("'restart'\n", " checkout sandbox stop ", " checkout sandbox start;")],
  ["restart", 2, inOrder("'restart'\n", " checkout sandbox stop ", " checkout sandbox start;")],
  ["sandbox start --listen localhost:8025", 2, /→ checkout sandbox start --port 8025$/m],
  ["sandbox start -p 4242:4242", 2, inOrder(mean("--port"), "→ checkout sandbox start --help")],
  ["listen -f http://localhost:3000/hooks --skip-verify", 2, /→ checkout listen --help$/m],
  ["orders create --order-id o --amount 19.99", 2, inOrder(mean("--amount-minor"), "create --help")],
  ["sessions create --success-url http://localhost:3000", 2, /return-origins add <origin>/],
  ["faults rm --all", 2, /→ checkout faults clear$/m],
  ["deliveries redeliver --all", 2, /deliveries retry/],
  ["requests tail --method POST", 2, /requests list --follow/],
  ["completion sh", 2, /→ checkout completion bash/],
  ["keys rotate", 2, inOrder("'rotate'\n", " checkout keys create, ", " checkout keys revoke ")],
  ["config list", 2, mean("config export", "whoami")],
  [
    "config set x",
    2,
    inOrder("unknown command 'set'\n", " checkout.config.json ", " checkout config apply;"),
  ],
  ["snapshots save empty", 2, mean("snapshots create")],
  [
    "faults add timeout",
    2,
    inOrder('"timeout"', mean("faults add latency --latency 30s", "faults add lose_answer")),
  ],
  ["checklist run all", 2, /too many arguments.*all\.\n.*→ checkout checklist run$/m],
  ["doctor --fix", 2, inOrder("'--fix'\n", "→ checkout doctor ")],
  ["whoami --allow-env KEY", 2, /unknown option '--allow-env'\n.*CHECKOUT_TARGET_<NAME>_API_KEY/],
  // A group in the singular.
  ["store ls", 2, mean("stores list")],
  ["webhook nonsense", 2, mean("webhooks")],
  ["clock freze", 2, mean("sandbox clock freeze")],
  ["clock advnace 2h", 2, mean("sandbox clock advance")],
  ["set 2027-01-01T00:00:00Z", 2, mean("sandbox clock set")],
  ["--dir", 2, /'--dir <folder>'/],
  ["orders --dir", 2, /'--dir <folder>'/],
  ["--store", 2, /'--store <id\|name>'/],
  ["--store x orders list --retries 0", 2, /unknown option '--retries'/],
  ["orders list --api-key svc_test_abc", 2, /'--api-key'[^\n]*\n.* CHECKOUT_API_KEY$/m],
  ["orders list --api-key=svc_test_abc", 2, /→ .* CHECKOUT_API_KEY$/m],
  ["sandbox start --control-token x", 2, /→ .* CHECKOUT_SANDBOX_CONTROL_TOKEN$/m],
  ["admin log --admin-token x", 2, /→ .* CHECKOUT_ADMIN_TOKEN$/m],
  ["sandbox clock advance 2 hours", 2, /→ checkout sandbox clock advance 2h$/m],
  ["sandbox start 4300", 2, mean("--port 4300")],
  ["sandbox clock advance 30 min", 2, /→ checkout sandbox clock advance 30m$/m],
  ["faults add lost_answer", 2, mean("lose_answer")],
  ["faults add nonsense", 2, /"nonsense"\n/],
  // An output format as other tools spell it.
  ["orders list -o json", 2, /→ checkout orders list --json$/m],
  ["events list -o yaml", 2, /: checkout events list --json$/m],
  ["explain o-1 --output table", 2, /: checkout explain o-1$/m],
  ["--dir x orders get o-1 --format json", 2, /→ checkout --dir x orders get o-1 --json$/m],
  // Excess words.
  ["orders create --order-id my order --price-id p", 2, /: order\.\n {2}→ (?!.*checkout)/],
  ["requests list f7963269", 2, /→ checkout requests get f7963269$/m],
  ["events list 7ad3911e", 2, /→ checkout events get 7ad3911e$/m],
  ["trigger order succeeded", 2, /→ checkout trigger order\.succeeded$/m],
  ["faults add latency 3s --path /v1/orders", 2, mean("--latency 3s")],
  // Commands typed after `sandbox`, although they are not in that group.
  ["sandbox snapshot create x", 2, /→ checkout snapshots create x$/m],
  ["sandbox faults add status --status 503", 2, /→ checkout faults add status --status 503$/m],
  ["sandbox events", 2, /→ checkout events --help$/m],
  ["--dir x sandbox trigger order.succeeded", 2, /→ checkout --dir x trigger order\.succeeded$/m],
  // A misspelt group or command.
  ["sandbx start", 2, /→ checkout sandbox start$/m],
  ["sandbx stop", 2, /→ checkout sandbox stop --help$/m],
  ["openn", 2, /→ checkout open$/m],
  ["compeltion bash", 2, /→ checkout completion bash$/m],
  ["delivery list", 2, /→ checkout deliveries list$/m],
  ["delivery list --order o-1", 2, /→ checkout deliveries list --order-id o-1$/m],
  // A suggested line is itself corrected until this program would accept it.
  ["get orders order-1001 -o json", 2, /→ checkout orders get order-1001 --json$/m],
  ["pay order-1002 --card 4242424242424242", 2, /→ checkout sandbox pay --help$/m],
  ["faults add latency 2000", 2, /→ checkout faults add latency --latency 2000ms$/m],
  ["sandbox wait --timeout 1", 2, /→ checkout sandbox wait --timeout 1s$/m],
  ["show order order-1001 -o json", 2, /→ checkout orders get order-1001 --json$/m],
  ["rm endpoints b99c61af", 2, /→ checkout endpoints remove b99c61af$/m],
  ["logs -f", 2, /→ checkout sandbox logs -f$/m],
  ["sandbox clock freeze 2027-01-01", 2, /→ checkout sandbox clock set 2027-01-01T00:00:00Z$/m],
  ["requests show order-1001", 2, /→ checkout requests list --order-id order-1001$/m],
  ["trigger order.refunded", 2, inOrder('"order.refunded"; ', "→ checkout trigger order.succeeded")],
  ["checklist run --only webhook", 2, /→ checkout checklist run webhooks$/m],
  ["snapshots restore ./base.snapshot", 2, /→ .*: --file \.\/base\.snapshot$/m],
  [
    "trigger order.paid --order-id order-1002",
    2,
    /→ checkout trigger --order-id order-1002 order\.succeeded$/m,
  ],
  ["tokens create --valid 30", 2, /→ checkout tokens create --valid 30m$/m],
  ["help webhook", 0, /webhook/],
  ["faults remove all", 2, /→ checkout faults clear$/m],
  ["faults clear 0199a3c4", 2, /→ checkout faults remove 0199a3c4$/m],
  ["sandbox clock stop", 2, /→ checkout sandbox clock freeze$/m],
  ["mcp add", 2, /→ checkout mcp config --client claude$/m],
  ["shop init --url http://localhost:3000", 2, /→ .*checkout shop init\b/],
  ["--dir nowhere orders list", 7, /\bnowhere\b.*\n {2}→ .*--dir/],
  // Mistakes whose correction is known.
  [
    "faults add --status 503 --path /v1/orders",
    2,
    /→ checkout faults add --status 503 --path \/v1\/orders status$/m,
  ],
  ["faults add error", 2, inOrder('"error"', mean("faults add status --status 500"))],
  ["requests list --path v1/orders", 2, inOrder("--path", " /v1/orders", '"v1/orders"')],
  ["checklist run --order-view http://localhost:3000/orders/:id", 2, inOrder("--order-view", " {order_id} ")],
  ["whoami --base-url test.example.com", 2, / https:\/\/test\.example\.com\/v1;/],
  // Words that are spelt most like a wrong command.
  ["sandbox clock unfreeze", 2, /→ checkout sandbox clock real$/m],
  ["sandbox clock now", 2, /→ checkout sandbox clock show$/m],
  ["sandbox start --reset", 2, /→ .*--reset; checkout sandbox reset /],
  ["endpoints get b99c61af", 2, /→ checkout endpoints list /],
  [
    "endpoints add http://localhost:3000/hooks --secret x",
    2,
    /→ .*--secret: .* checkout endpoints secret <id> /,
  ],
  ["who", 2, /→ checkout whoami$/m],
  ["send order.succeeded", 2, /→ checkout trigger order\.succeeded$/m],
  ["webhook trigger order.succeeded", 2, /→ checkout trigger order\.succeeded$/m],
  ["stores rename Alice Bob", 2, inOrder("'rename'\n", "; checkout stores list ")],
  ["stores get Alice", 2, /→ checkout stores show --store Alice$/m],
  ["prices edit price_coffee", 2, inOrder("'edit'\n", ": checkout prices add <price_id> ")],
  ["faults delete all", 2, /→ checkout faults clear$/m],
  ["faults remove --all", 2, /→ checkout faults clear$/m],
  ["completion --shell bash", 2, /→ checkout completion bash$/m],
  ["sessions pay o-1 --declined", 2, /→ checkout sandbox pay o-1 --outcome declined$/m],
  ["production request --reason", 2, /→ .*--reason/],
  ["help signatures", 2, /→ checkout webhooks --help$/m],
  ["--version", 0, /^\d+\.\d+\.\d+\n$/],
  ["-v", 0, /^\d+\.\d+\.\d+\n$/],
  ["-V", 0, /^\d+\.\d+\.\d+\n$/],
  ["version", 0, /^\d+\.\d+\.\d+\n$/],
];

const PAY = "--payment-method alipay_plus";
/** Command lines with a sandbox, run in this order. Words such as PAID and ENDPOINT stand for the ids of `openShop`. */
const BESIDE_SANDBOX: readonly Row[] = [
  [
    "endpoints add http://localhost:99999/",
    2,
    refusalText("target_port", { received: '"http://localhost:99999/"' }),
  ],
  ["sandbox stop --dir .", 2, /→ checkout sandbox stop --dir \S+\/\.checkout$/m],
  ["sandbox status --dir .", 2, /→ checkout sandbox status --dir \S+\/\.checkout$/m],
  [
    "listen --forward https://shop.example/hooks --events order.succeeded",
    2,
    /listen --forward https:\/\/shop\.example\/hooks --events order\.succeeded --allow-target shop\.example$/m,
  ],
  [
    "endpoints add /hooks",
    2,
    refusalText("target_without_scheme", { received: '"/hooks"', instead: '"http://localhost:3000/hooks"' }),
  ],
  [
    "orders create --order-id a-0 --price-id coffee --dir .checkout",
    1,
    / checkout --dir \.checkout prices list/,
  ],
  // Creates, as people first type them.
  [`orders create --order-id a-1 --amount-minor 1999 --currency EUR ${PAY}`, 0, /^✓ .*\n.*\n.* a-1\n/],
  [`orders create --order-id a-1 --amount-minor 1999 --currency eur ${PAY}`, 0, /^= /],
  [`orders create --order-id a-1 --amount-minor 1999 --currency Eur ${PAY}`, 0, /^= /],
  [
    `orders create --order-id a-2 --amount-minor 19.99 --currency EUR ${PAY}`,
    2,
    inAmount("19.99 EUR", "1999"),
  ],
  [
    `orders create --order-id a-2 --currency=eur --amount-minor 19,99 ${PAY}`,
    2,
    inAmount("19.99 EUR", "1999"),
  ],
  [
    `orders create --order-id a-2 --amount-minor 1200.00 --currency jpy ${PAY}`,
    2,
    inAmount("1200 JPY", "1200"),
  ],
  [
    `orders create --order-id a-2 --amount-minor 19.99 --currency jpy ${PAY}`,
    2,
    inOrder(PART_TEXTS.amount_without_decimals),
  ],
  [`orders create --order-id a-2 --amount-minor 1.5 ${PAY}`, 2, inAmount("1.50 EUR", "150")],
  [
    `orders create --order-id a-2 --amount-minor 1.234 --currency EUR ${PAY}`,
    2,
    inOrder(PART_TEXTS.whole_amount),
  ],
  [
    `orders create --order-id a-2 --amount-minor €20 --currency EUR ${PAY}`,
    2,
    inOrder(PART_TEXTS.whole_amount),
  ],
  [
    `orders create --order-id a-2 --amount-minor 0 --currency EUR ${PAY}`,
    2,
    inOrder(PART_TEXTS.whole_amount),
  ],
  [`orders create --order-id a-2 --amount-minor -5 --currency EUR ${PAY}`, 2, /--amount-minor/],
  [`orders create --order-id a-2 --amount-minor 1999 --currency euro ${PAY}`, 2, inOrder("currency", "EUR")],
  [`orders create --order-id a-2 --amount-minor 1999 --currency € ${PAY}`, 2, /currency/],
  [
    "orders create --order-id a-2 --amount-minor 1999 --currency EUR --payment-method visa",
    2,
    inOrder("alipay_plus", "wechat_pay"),
  ],
  ["orders create --order-id a-2 --amount-minor 1999 --currency EUR", 2, /✗ [^-]*: --payment-method/],
  [`orders create --order-id a-2 --amount-minor 1999 ${PAY}`, 2, /✗ [^-]*: --currency/],
  ["orders create", 2, /: --order-id, --amount-minor, --currency, --payment-method/],
  ["orders create --order-id a-2", 2, inOrder("--order-id", "--price-id")],
  ["orders create --price-id price_coffee", 2, /✗ [^-]*: --order-id\b/],
  ["orders create --order-id", 2, /'--order-id <id>'/],
  ["orders create order-1", 2, /too many arguments/],
  ["orders create --orderid a-2", 2, /unknown option '--orderid'.*--order-id/],
  ["orders create --amount 1999", 2, /unknown option '--amount'/],
  [
    "orders create --order-id a-2 --price-id price_coffee --currency EUR",
    2,
    refusalText("conflicting_parameters"),
  ],
  ["orders create --order-id a-2 --price-id price_tea", 1, /price_tea/],
  [
    "orders create --order-id a-very-long-order-id-of-more-than-32 --price-id price_coffee",
    2,
    inOrder("order_id", " 1 ", " 32 "),
  ],
  [
    "orders create --order-id a-2 --price-id price_coffee --dry-run",
    0,
    /POST http.*\/v1\/orders|"price_id"/s,
  ],
  ["orders create --order-id a-2 --price-id price_coffee", 0, /^✓ .*\n.*\n.* a-2\n/],
  ["orders create --order-id a-2 --price-id price_ticket", 5, /→ .* --order-id/],
  ["orders create --order-id a-2 --price-id price_coffee --new-attempt", 5, refusalText("order_conflict")],
  ["orders create --order-id paid-1 --price-id price_coffee --new-attempt", 5, /→ .*\bpaid\b.* --order-id/],
  ["orders create --order-id a-2 --price-id price_coffee --until paid", 2, /--until/],
  ["orders create --order-id a-2 --price-id price_coffee --until succeeded", 2, inOrder("--until", "--wait")],
  [
    "orders create --order-id a-3 --price-id price_coffee --idempotency-key short",
    2,
    inOrder(" 8 ", " 128 "),
  ],
  [
    "orders create --order-id a-3 --price-id price_coffee --retries many",
    2,
    inOrder("--retries", " 0 ", " 100", '"many"'),
  ],
  ["orders create --order-id a-3 --price-id price_coffee --timeout 10", 2, inOrder("--timeout", '"')],
  ["sessions create --order-id s-1 --price-id price_bento", 0, /^✓ .*\n.*\n.* s-1\n/],
  ["sessions create --order-id s-1 --price-id price_bento", 0, /^= /],
  [`orders create --order-id a-4 --amount-minor 500 --currency GBP ${PAY}`, 4, /GBP.*enable-capability GBP/s],
  ["admin enable-capability gbp", 0, /GBP|gbp/],
  [`orders create --order-id a-5 --amount-minor 500 --currency gbp ${PAY}`, 0, /5\.00 GBP/],
  ["admin enable-capability KWD", 0, /\bKWD\b/],
  [`orders create --order-id a-6 --amount-minor 1500 --currency KWD ${PAY}`, 0, /1\.500 KWD/],
  ["admin enable-capability EUROS", 1, refusalText("no_capability_to_enable")],
  ["admin enable-capability XYZ", 1, refusalText("no_capability_to_enable")],
  ["admin enable-capability EUR", 5, refusalText("capability_is_active", { name: "EUR" })],
  ["admin disable-capability GBP", 0, /\bGBP\b/],
  ["admin disable-capability CHF", 1, refusalText("no_capability")],
  // Repeated creates, which show the existing order.
  ["orders create --order-id paid-1 --price-id price_coffee", 0, /^= .* succeeded\n/s],
  ["orders create --order-id ended-1 --price-id price_coffee", 0, /^= .* expired\n.*--new-attempt/s],
  ["orders get PAID", 0, / succeeded\n/],
  ["orders get SHORT", 0, / succeeded\n/],
  ["orders get", 2, /missing required argument 'id\|order_id'/],
  ["orders get paid-1", 0, / succeeded\n/],
  ["orders get nonsense", 1, inOrder('"nonsense"', hintForIds("checkout"))],
  ["orders get two␣words", 1, inOrder(hintForIds("checkout"))],
  ["orders get a-text-of-more-than-32-characters", 2, inOrder("0199a3c4-", hintForIds("checkout"))],
  ["orders get 00000000", 1, inOrder(noMatchText("00000000"))],
  ["orders get 0199a3c4-5d00-7000-8000-00000000dead", 1, /orders list/],
  ["orders get --id PAID", 2, /unknown option '--id'/],
  ["orders show PAID", 2, inOrder("unknown command 'show'", mean("orders get"))],
  ["order list", 2, /unknown command 'order'.*orders/],
  ["orders ls", 2, /unknown command 'ls'/],
  ["orders list", 0, / succeeded /],
  ["orders list --status paid", 2, inOrder("created", "pending", "succeeded")],
  ["orders list --status succeeded", 0, /succeeded/],
  ["orders list --limit 0", 2, inOrder("--limit", " 1 ", " 200")],
  ["orders list --order-id nothing", 0, /^[^\n]*\n$/],
  ["orders list --base-url https://pay.example/v1", 2, inOrder("pay.example", "checkout sessions get ")],
  ["orders", 2, /→ checkout orders --help$/m],
  ["sessions list", 0, / s-1 /],
  ["sessions get PAID", 0, / succeeded\n/],
  ["sessions get paid-1", 0, / succeeded\n/],
  ["sessions get nonsense", 1, /"nonsense"/],
  ["sessions get 0199a3c4-5d00-7000-8000-00000000dead", 1, refusalText("session_not_found")],
  ["sandbox pay OPEN --outcome paid", 2, inOrder("succeeded", "declined")],
  ["sandbox pay OPEN", 0, /created → pending/],
  ["sandbox pay OPEN --outcome succeeded", 5, /succeeded/],
  ["sandbox clock", 2, /→ checkout sandbox clock --help$/m],
  ["sandbox clock show", 0, /^\S+Z/],
  ["sandbox clock advance", 2, /missing required argument 'duration'/],
  ["sandbox clock advance 5", 2, inOrder(" 31m", '"5"')],
  ["sandbox clock set tomorrow", 2, /"tomorrow"/],
  ["sandbox clock freeze", 0, /^\S+Z \(/],
  ["sandbox clock advance 1s", 0, /Z \(/],
  ["sandbox clock real", 0, /Z/],
  // Webhooks.
  ["endpoints list", 0, /http:\/\/localhost:3000\/hooks/],
  [
    "endpoints add localhost:3001/hooks",
    2,
    refusalText("target_without_scheme", { instead: '"http://localhost:3001/hooks"' }),
  ],
  ["endpoints add http://localhost:3001/hooks", 0, /^✓ .* http:\/\/localhost:3001\/hooks/],
  ["endpoints add http://localhost:3001/hooks", 5, /endpoints list/],
  ["endpoints disable", 2, /missing required argument 'id'/],
  ["endpoints disable ENDPOINT", 0, /http:\/\/localhost:3000\/hooks/],
  ["endpoints enable ENDPOINT", 0, /http:\/\/localhost:3000\/hooks/],
  ["endpoints remove ffffffff", 1, /endpoints list/],
  ["endpoints delete ENDPOINT", 2, /unknown command 'delete'/],
  ["env", 0, /CHECKOUT_BASE_URL=/],
  ["endpoints rotate-secret ENDPOINT", 0, / whsec_/],
  ["endpoints secret ENDPOINT", 0, /^whsec_/],
  ["endpoints secret", 2, inOrder(" 2 ", "(http://localhost:3000/hooks)")],
  ["events list", 0, / order\.created /],
  ["events get EVENT", 0, /"event_id"/],
  ["events replay EVENT", 0, /./],
  // An id of another kind.
  ["events replay ENDPOINT", 1, /an endpoint\b.*\n {2}→ checkout deliveries list --endpoint \S{36}$/m],
  ["explain WHOLE_ENDPOINT", 1, /an endpoint\b.*\n {2}→ checkout deliveries list --endpoint \S{36}$/m],
  ["endpoints test EVENT", 1, /an event\b.*\n {2}→ checkout explain \S{36}; checkout events replay \S{36} /],
  ["endpoints test PAID", 1, /an order or session\b.*\n {2}→ checkout explain \S{36}$/m],
  ["endpoints test http://localhost:3000/hooks", 2, /→ checkout endpoints test \S{36}$/m],
  ["endpoints test http://localhost:3000/other", 2, /→ checkout endpoints list shows /],
  ["events get paid-1", 2, /→ checkout events list --order-id paid-1 /],
  ["deliveries list", 0, / 200 /],
  ["deliveries list --state failed", 0, /./],
  ["deliveries list --endpoint ENDPOINT", 0, /./],
  ["trigger", 2, /missing required argument 'type'/],
  ["events list --type order.*", 2, inOrder("order.<status>", '"order.*"')],
  ["trigger order.succeeded", 0, /order\.succeeded/],
  ["trigger webhook.test", 0, /webhook\.test/],
  ["webhooks verify", 2, /--/],
  ["listen --forward nonsense", 2, inOrder(": localhost, 127.0.0.1 ", '"nonsense"')],
  ["listen --port 99999", 2, inOrder("--port", '"99999"')],
  // Keys, prices, stores, requests.
  ["keys list", 0, /orders:write/],
  ["keys create --scopes everything", 2, /orders:write/],
  ["keys create", 0, / svc_test_/],
  ["keys revoke", 2, /missing required argument 'key_id'/],
  ["keys revoke nonsense", 2, inOrder('"nonsense"', hintForIds("key"))],
  ["keys revoke ffffffff", 1, /keys list/],
  ["keys revoke KEY", 0, /^✓ .*…/],
  ["prices list", 0, /price_coffee/],
  [`prices add tea --amount-minor 7.50 --currency eur ${PAY}`, 2, inAmount("7.50 EUR", "750")],
  [`prices add tea --amount-minor 750 --currency eur ${PAY}`, 0, /7\.50 EUR/],
  ["prices add tea", 2, /: --amount-minor, --currency, --payment-method/],
  ["prices retire nothing", 1, /prices list/],
  ["prices retire tea", 0, /\btea\b/],
  ["capabilities list", 0, /alipay_plus/],
  ["stores list", 0, /Sandbox Store/],
  ["stores show", 0, /Sandbox Store/],
  ["stores create --name Tea", 0, /^✓ /],
  ["stores use Coffee", 2, /Coffee/],
  ["stores delete Tea", 2, /--yes/],
  ["orders list --store Tea", 0, /^[^\n]*\n$/],
  ["orders list --store Coffee", 2, /Coffee/],
  [
    "return-origins add https://shop.example/thanks",
    2,
    /return-origins add https:\/\/shop\.example --path \/thanks/,
  ],
  ["return-origins add https://shop.example", 0, / https:\/\/shop\.example\n/],
  ["return-origins list", 0, /shop\.example/],
  ["requests list", 0, / 201 /],
  ["requests list --status 9xx", 2, /./],
  ["requests get REQUEST", 0, / \S{36}\n/],
  ["explain REQUEST", 0, /./],
  ["explain nonsense", 1, refusalText("nothing_to_explain", { received: '"nonsense"' })],
  ["whoami", 0, / http:\/\/127\.0\.0\.1:\d+\/v1 /],
  ["idempotency list", 0, / a-1 /],
  ["idempotency show nothing", 1, / nothing\n/],
  ["checklist waive webhooks", 2, /: --reason/],
  ["checklist run", 3, inOrder("\n  → ", "checkout shop init", "--order-view URL")],
  ["assumptions", 0, /./],
  ["env --format yaml", 2, inOrder("--format", '"yaml"')],
  ["sandbox status", 0, /./],
  ["sandbox wait", 0, /./],
  ["config validate", 2, /checkout\.config\.json/],
  ["config export", 0, /./],
  ["production request", 0, /./],
];

/** An environment or a file with a common mistake, a command line, its exit code, and its output. */
type SettingRow = readonly [env: Readonly<Record<string, string>>, line: string, code: number, says: RegExp];

const CREATE = "orders create --order-id b-1 --price-id price_coffee";
const NOT_HERE = "0199a3c4-5d00-7000-8000-00000000dead";
/** HERE is the sandbox's address, ORIGIN its origin, OWN its key, and OTHER a key of another sandbox. */
const WITH_SETTINGS: readonly SettingRow[] = [
  // The key.
  [{ CHECKOUT_API_KEY: "OTHER" }, CREATE, 4, refusalText("unknown_key")],
  [{ CHECKOUT_API_KEY: "test" }, CREATE, 4, refusalText("not_a_key")],
  [{ CHECKOUT_API_KEY: "a" }, CREATE, 4, refusalText("not_a_key")],
  [
    { CHECKOUT_API_KEY: "key" },
    CREATE,
    4,
    inOrder("→ ", "CHECKOUT_API_KEY", "--base-url", "; checkout whoami "),
  ],
  [{ CHECKOUT_API_KEY: "OWN\r" }, CREATE, 4, /✗ [^\n]*CHECKOUT_API_KEY/],
  [{ CHECKOUT_API_KEY: "OWN " }, CREATE, 4, /✗ [^\n]*CHECKOUT_API_KEY/],
  [{ CHECKOUT_API_KEY: "two keys" }, CREATE, 4, /✗ [^\n]*CHECKOUT_API_KEY/],
  [{ CHECKOUT_API_KEY: "" }, CREATE, 0, /b-1/],
  [{ CHECKOUT_API_KEY: "OWN" }, CREATE, 0, /^= /],
  // The address.
  [{ CHECKOUT_BASE_URL: "HERE/", CHECKOUT_API_KEY: "OWN" }, CREATE, 0, /^= /],
  [{ CHECKOUT_BASE_URL: "HERE\r" }, "orders list", 0, /b-1/],
  [{ CHECKOUT_BASE_URL: "" }, "orders list", 0, /b-1/],
  [{ CHECKOUT_BASE_URL: "127.0.0.1:4242" }, "orders list", 2, inOrder("CHECKOUT_BASE_URL", " https:")],
  [{ CHECKOUT_BASE_URL: "localhost:4242/v1" }, "orders list", 2, inOrder("CHECKOUT_BASE_URL", " https:")],
  [{ CHECKOUT_BASE_URL: '"HERE"' }, "orders list", 2, inOrder("CHECKOUT_BASE_URL", " https:")],
  [
    { CHECKOUT_BASE_URL: "ORIGIN", CHECKOUT_API_KEY: "OWN" },
    CREATE,
    1,
    inOrder('"/orders"', "\n  → ", "CHECKOUT_BASE_URL", "/v1"),
  ],
  [
    { CHECKOUT_BASE_URL: "ORIGIN/v2", CHECKOUT_API_KEY: "OWN" },
    `sessions get ${NOT_HERE}`,
    1,
    inOrder("\n  → ", "CHECKOUT_BASE_URL", "/v1"),
  ],
  [
    { CHECKOUT_BASE_URL: "https://127.0.0.1:4999/v1", CHECKOUT_API_KEY: "OWN", CHECKOUT_RETRIES: "0" },
    `sessions get ${NOT_HERE}`,
    7,
    / CHECKOUT_BASE_URL\n/,
  ],
  [
    { CHECKOUT_BASE_URL: "http://127.0.0.1:4999/v1" },
    "orders list",
    2,
    inOrder("✗ CHECKOUT_BASE_URL", "\n  → ", " CHECKOUT_BASE_URL"),
  ],
  [
    { CHECKOUT_BASE_URL: "http://127.0.0.1:4999/v1" },
    "trigger order.succeeded",
    2,
    inOrder("✗ CHECKOUT_BASE_URL", "\n  → ", " CHECKOUT_BASE_URL"),
  ],
  // The store.
  [
    { CHECKOUT_STORE_ID: NOT_HERE },
    "orders list",
    1,
    inOrder(refusalText("no_store", { store: NOT_HERE }), "checkout stores list"),
  ],
  [{ CHECKOUT_STORE_ID: "nonsense" }, "orders list", 2, inOrder("CHECKOUT_STORE_ID", '"nonsense"')],
  [{}, `${CREATE} --store nope`, 2, inOrder('"nope"', '"Sandbox Store"')],
  // Variables left in a shell that belong to another command, or to none.
  [{ CHECKOUT_PORT: "none" }, "orders list", 0, /b-1/],
  [
    { CHECKOUT_ORDER_ID: "left" },
    "orders create --price-id price_coffee",
    2,
    inOrder(": --order-id; ", "CHECKOUT_ORDER_ID"),
  ],
  [
    { CHECKOUT_BASEURL: "HERE", CHECKOUT_RETRIES: "0" },
    `--dir elsewhere ${CREATE}`,
    7,
    inOrder("(CHECKOUT_BASE_URL; ", " CHECKOUT_BASEURL)"),
  ],
  [
    { CHECKOUT_BASEURL: "HERE", CHECKOUT_RETRIES: "0" },
    "--dir elsewhere events list",
    7,
    inOrder("CHECKOUT_CONTROL_TOKEN; ", " CHECKOUT_BASEURL)"),
  ],
  [{}, "sandbox start -d", 2, mean("--detach")],
  [{}, "sandbox start -r", 2, mean("--reuse", "--rate-limit")],
  [
    {},
    "faults add flaky-network",
    2,
    inOrder("flaky-network", "\n  → ", "faults add --profile flaky-network"),
  ],
  [{}, "events resend x", 2, mean("events replay")],
  [{}, "up", 2, mean("sandbox start")],
  [{}, "sessions get nonsense", 1, inOrder(hintForIds("checkout"))],
  [{}, "orders cancel x", 2, /→ checkout sandbox pay x --outcome cancelled$/m],
  [{}, "orders cancel x --store Tea", 2, /→ checkout --store Tea sandbox pay x --outcome cancelled$/m],
  [{}, "--dir=a orders cancel x --json", 2, /checkout --dir=a sandbox pay x --outcome cancelled"/],
  [{}, "orders cancel --store $(id) x", 2, /checkout --store '\$\(id\)' sandbox pay x --outcome cancelled$/m],
  [{}, "orders pay x --outcome failed", 2, /→ checkout sandbox pay x --outcome failed$/m],
  [{}, "orders cancel x --outcome failed", 2, /→ checkout orders --help$/m],
  [{}, "orders pay x --outcome $(id)", 2, /→ checkout orders --help$/m],
  [{}, "sandbox pay x --fail", 2, /→ checkout sandbox pay x --outcome failed$/m],
  [{}, "faults add status --code 500", 2, /→ checkout faults add status --status 500$/m],
  [{}, "checklist run --only return_befor", 2, /→ checkout checklist run --only return_before$/m],
  [{}, "checklist run --only nothing", 2, /→ closest: \w+(, \w+){4}$/m],
  [{}, "checklist run --paid-when (paid", 2, /got "\(paid": unterminated group\.$/m],
  [{}, "checklist run --create POST␣/buy", 2, /→ .*\{ "post": "\/buy" \}.* checkout shop init /],
  [{}, "checklist webhooks", 2, /→ checkout checklist run webhooks$/m],
  [{}, "listen 3000", 2, /→ checkout listen --forward http:\/\/localhost:3000\/hooks$/m],
  [{}, "snapshots load paid", 2, /→ checkout snapshots restore paid$/m],
  [{}, "snapshots load $(id)", 2, /→ checkout snapshots restore <name>$/m],
  [{}, "portal", 2, /→ checkout open$/m],
  [{}, "sandbox clock +2h", 2, /→ checkout sandbox clock advance 2h$/m],
  [{}, "sandbox pay x --outcome success", 2, /→ checkout sandbox pay x --outcome succeeded$/m],
  [{}, "sandbox pay --outcome=decline x", 2, /→ checkout sandbox pay x --outcome declined$/m],
  [{}, "refund x", 2, /→ .*; checkout sandbox pay <id> --outcome failed /],
  [{}, "orders refund x", 2, /→ .*; checkout sandbox pay <id> --outcome failed /],
  [{}, "faults add latency --duration 2s", 2, /→ checkout faults add latency --latency 2s$/m],
  [{}, "cancel x", 2, /→ checkout sandbox pay x --outcome cancelled$/m],
  [{}, "expire x", 2, /→ checkout sandbox pay x --outcome expired$/m],
  [{}, "sandbox pay x --decline", 2, /→ checkout sandbox pay x --outcome declined$/m],
  [{}, "sandbox clock forward 1d", 2, /→ checkout sandbox clock advance 1d$/m],
  [{}, "sandbox clock reset", 2, /→ checkout sandbox clock real$/m],
  [{}, "checklist start", 2, /→ checkout checklist run$/m],
  [{}, "webhooks test x", 2, /→ checkout endpoints test x$/m],
  [{}, "webhooks send order.succeeded", 2, /→ checkout trigger order\.succeeded$/m],
  [{}, "webhooks replay 00000009", 2, /→ checkout events replay 00000009$/m],
  [{}, "listen http://localhost:3000/a", 2, /→ checkout listen --forward http:\/\/localhost:3000\/a$/m],
  [{}, "endpoints add --url http://a/b", 2, /→ checkout endpoints add http:\/\/a\/b$/m],
  [{}, "faults add latency --ms 2000", 2, mean("--latency")],
  [{}, "env --shell fish", 2, mean("--format")],
  [{}, "orders list --format json", 2, mean("--json")],
  [{}, "sandbox start --background", 2, mean("--detach")],
  [{}, "dashboard", 2, /→ checkout open$/m],
  [{}, "launch", 2, /→ checkout checklist$/m],
  [{}, "why x", 2, /→ checkout explain x$/m],
  [{}, "config init", 2, mean("config export")],
  [{}, "orders delete x", 2, /→ .*; checkout sandbox reset /],
  [{}, "sandbox pay order-1 succeeded", 2, /→ checkout sandbox pay order-1 --outcome succeeded$/m],
  [{}, "sandbox pay --id x", 2, /→ checkout sandbox pay x$/m],
  [{}, "faults add status 503", 2, /→ checkout faults add status --status 503$/m],
  [{}, "faults add drop --type order.failed", 2, mean("--event")],
  [{}, "sandbox start --memory", 2, mean("--ephemeral")],
  [{}, "requests tail", 2, /→ checkout requests list --follow$/m],
  [{}, "events watch", 2, /→ checkout listen$/m],
  [
    {},
    "endpoints resume 00000009",
    2,
    /^✗ unknown command 'resume'\n.*→ checkout endpoints enable 00000009$/m,
  ],
  [{}, "deliveries retry 00000009", 2, /→ .*: checkout deliveries retry --endpoint <id> /],
  [{}, "deliveries get 00000009", 2, /→ checkout explain 00000009$/m],
  [{}, "logs 00000009", 2, /→ checkout explain 00000009$/m],
  [{}, "inspect order-1001", 2, /→ checkout explain order-1001$/m],
  [{}, "charge order-1001", 2, /→ checkout sandbox pay order-1001$/m],
  [{}, "run npm test", 2, /→ checkout exec -- npm test$/m],
  [{}, "run npm test --watch", 2, /→ checkout exec -- <command>$/m],
  [{}, "run duplicates", 2, mean("checklist run duplicates")],
  [{}, "auth status", 2, /→ checkout whoami$/m],
  [{}, "auth login", 2, /→ .*; checkout sandbox start .* checkout env /],
  [{}, "list", 2, /→ checkout orders list$/m],
  [{}, "list events", 2, mean("events list")],
  [{}, "payments list", 2, /→ checkout orders list$/m],
  [{}, "admin open-gate", 5, /→ checkout production request$/m],
  [{}, "production open", 2, /→ checkout admin open-gate$/m],
  [{}, "orders update x", 2, /→ .*; checkout orders create --order-id <id> /],
  [{}, "admin approve", 2, mean("admin approve-credential", "admin approve-price")],
  [{}, "idempotency delete x", 2, /→ checkout idempotency forget x$/m],
  [{}, "endpoints roll-secret 00000009", 2, /→ checkout endpoints rotate-secret 00000009$/m],
  [{}, "checklist run duplicate", 2, /→ checkout checklist run duplicates$/m],
  [{}, "sandbox pay x --result declined", 2, mean("--outcome")],
  [{}, "orders show order-1", 2, inOrder(mean("orders get"), "→ checkout orders get order-1")],
  [{}, "get order order-1 --dir there", 2, /→ checkout --dir there orders get order-1$/m],
  [{}, "orders show order-1 order-2", 2, /→ checkout orders get --help$/m],
  [{}, "keys delete k1", 2, /→ checkout keys revoke --help$/m],
  [{}, "snapshot before", 2, /→ checkout snapshots --help$/m],
  [{}, "stores create s2", 2, /→ checkout stores create --name s2$/m],
  [{}, "faults add latency 5s", 2, /→ checkout faults add latency --latency 5s$/m],
  [{}, "faults add 503", 2, mean("status --status 503")],
  [{}, "sandbox start --dir", 2, /→ checkout sandbox start --help$/m],
  [{}, "tokens revok x", 2, /^✗ unknown command 'revok'\n {2}→ checkout tokens --help$/m],
  [{}, "forgte x", 2, /^✗ unknown command 'forgte'\n {2}→ checkout --help$/m],
  [{}, "cancel x y", 2, /→ checkout --help$/m],
  [{}, "faults add lose_answer --duration 30s", 2, /→ checkout faults add --help$/m],
  [{}, "webhooks list", 2, mean("endpoints list", "events list", "deliveries list")],
  [{ CHECKOUT_IDEMPOTENCY_KEY: "left-in-a-shell" }, CREATE, 0, /^= /],
  [{ CHECKOUT_SANDBOX_PORT: "abc" }, "sandbox start", 2, inOrder("CHECKOUT_SANDBOX_PORT ", "--port <port>")],
  [{ CHECKOUT_LISTEN_PORT: "abc" }, "listen", 2, inOrder("CHECKOUT_LISTEN_PORT ", "--port <port>")],
  [{ CHECKOUT_TIMEOUT: "10" }, CREATE, 2, inOrder("CHECKOUT_TIMEOUT ", '"10"')],
  [{ CHECKOUT_RETRIES: "-1" }, CREATE, 2, inOrder("CHECKOUT_RETRIES ", " 0 ", " 100")],
  [{ HTTP_PROXY: "http://127.0.0.1:9", ALL_PROXY: "http://127.0.0.1:9" }, "orders list", 0, /b-1/],
  [{ HTTPS_PROXY: "nonsense" }, "orders list", 0, /b-1/],
  [
    { NO_COLOR: "1", HOME: "", TZ: "America/New_York", LANG: "de_DE.UTF-8" },
    "orders list",
    0,
    inOrder(EXPLAIN_SENTENCES.justNow, EXPLAIN_SENTENCES.lastBy.merchant),
  ],
  // The sandbox, and files.
  [{}, "sandbox start", 1, /✗ .*\bpid \d+/],
  [{}, "sandbox start --port 80000", 2, inOrder(" 0 ", " 65535", '"80000"')],
  [{}, "--dir trailing.json orders list", 1, /trailing\.json/],
  [{}, "config validate --file trailing.json", 2, /:3:1: .*\n.*\n {2}\w+ +–\n/],
  [{}, "config validate --file marked.json", 0, /marked\.json/],
  [{}, "config validate --file missing.json", 2, /missing\.json/],
  [{}, "webhooks verify --payload-file missing.json --timestamp 1 --signature x", 2, /missing\.json/],
  [
    {},
    `webhooks verify --payload-file trailing.json --timestamp 1767225600 --signature ${"a".repeat(64)} --secret-file lines.txt`,
    1,
    /^✗ /,
  ],
  [
    {},
    "webhooks verify --payload-file lines.txt --timestamp 1 --signature x --secret-file empty.txt",
    2,
    /--secret-file/,
  ],
  [{}, "exec", 2, /missing required argument 'command'/],
  [{}, "faults add nonsense", 2, /: status, latency/],
  [{}, "faults add status --status 200", 2, inOrder("status", " 400 ", " 599")],
  [{}, "faults remove nope", 2, /faults list/],
  [{}, "snapshots create ../x", 2, inOrder(" 1 ", " 64 ", " a-z")],
  [{}, "snapshots restore nope", 1, /snapshots list/],
  [{}, "snapshots restore", 2, inOrder("--file\n", "checkout snapshots list")],
  [{}, "idempotency forget nothing", 1, /idempotency list/],
  [{}, "stores delete Sandbox␣Store --yes", 5, refusalText("first_store")],
  [{}, "sandbox reset", 2, /--yes/],
  [{}, "sandbox wait --timeout 0s", 2, inOrder("--timeout", '"')],
];

test("each command line with a common mistake in a variable, a file or a word has the expected output and exit code", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const given: Readonly<Record<string, string>> = {
    HERE: ready.base_url,
    ORIGIN: ready.checkout_origin,
    OWN: ready.api_key ?? "",
    OTHER: "svc_test_NZKGZKoFeNGgXc7soqqr1fULOcb2V9TDC",
  };
  const files = {
    "trailing.json": '{\r\n  "stores": [],\r\n}\r\n',
    "marked.json": '\ufeff{ "sandbox": { "rate_limit": "50/s" } }',
    "lines.txt": "a\r\nb\r\n",
    "empty.txt": "\r\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(harness.cwd, name), text);
  const wrong: object[] = [];
  for (const [env, line, code, says] of WITH_SETTINGS) {
    const set = Object.entries(env).map(([name, value]) => [
      name,
      value.replace(/HERE|ORIGIN|OWN|OTHER/, (word) => given[word] ?? word),
    ]);
    const typed = line.split(" ").map((word) => word.replaceAll("␣", " "));
    const options = { env: Object.fromEntries(set) as Record<string, string> };
    const shown = await harness.run(typed, options);
    // A verdict is a result, even with exit code 1.
    const text = resultText(shown) === "" ? shown.stdout : resultText(shown);
    if (shown.code !== code || !says.test(text)) wrong.push({ env, line, shown });
    const json = await harness.run(["--json", ...typed], options);
    const told = lastLine(json.stderr === "" ? json.stdout : json.stderr);
    const isVerdict = line.startsWith("webhooks verify") && code === 1;
    const isThere = json.stderr.includes(told) === (code !== 0 && !isVerdict);
    if (json.code !== code || !/^\{.*\}$/.test(told) || !isThere) wrong.push({ env, line, json });
  }
  expect(wrong).toEqual([]);
});

test("each command line that a new user may type without a sandbox has the expected output and exit code", async () => {
  expect(await wrongRows(WITHOUT_SANDBOX, async () => ({ run: createHarness().run, ids: {} }))).toEqual([]);
});

test("explore warns that an option after the shop's command is passed to that command", async () => {
  const { stderr } = await createHarness().run(["explore", "./no-command", "--depth", "two"]);
  expect(stderr).toMatch(/^.*--depth /);
});

test("every complete command line that a hint suggests is accepted", async () => {
  const { run } = createHarness();
  const refusedLines: string[] = [];
  for (const [line] of WITHOUT_SANDBOX) {
    const { stderr } = await run(line.split(" ").map((word) => word.replaceAll("␣", " ")));
    const [, suggestedLine = ""] = /→ (checkout .*)$/m.exec(stderr) ?? [];
    const refused = await refusalOfLine(suggestedLine, realWorld());
    // A suggestion can also be a sentence that begins with a command: it has words that nobody typed.
    const words = refused?.line.argv.slice(refused.line.words.length) ?? [];
    const isSentence = words.some((word) => !word.startsWith("-") && !line.split(" ").includes(word));
    if (refused !== undefined && !isSentence) refusedLines.push(`${line} → ${suggestedLine}`);
  }
  expect(refusedLines).toEqual([]);
});

test("global options are accepted before a command and between its words", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const cwd = tempFolder();
  const shown = async (line: string): Promise<Result> => harness.run(line.split(" "), { cwd });
  const folder = `${harness.cwd}/.checkout`;
  const usual = await shown(`orders list --json --dir ${folder}`);
  expect([usual.code, usual.stdout]).toEqual([
    0,
    expect.stringMatching(/^\{"store_id":"[^"]+","checkouts":\[\],.*\}\n$/) as string,
  ]);
  for (const line of [
    `--json --dir ${folder} orders list`,
    `--dir ${folder} orders --json list`,
    `--dir=${folder} orders list --json`,
    `--store ${ready.store_id} --dir ${folder} orders list --json`,
    `orders --store=${ready.store_id} --dir ${folder} list --json`,
    `orders --dir ${folder} list --json`,
    `--no-color --trust-folder --json orders --dir ${folder} list`,
  ])
    expect([line, await shown(line)]).toEqual([line, usual]);
  const passed = await harness.run(["--json", "--no-color", "exec", "--", "printenv", "--json"]);
  expect(harness.programs.at(-1)?.args).toEqual(["--json"]);
  expect(passed.stderr).toMatch(/^\{"ok":false/);
  for (const line of ["--json", "--json orders", "orders --json", "--json nonsense", "--dir"])
    expect([line, (await shown(line)).code]).toEqual([line, 2]);
  for (const line of ["--json", "--json orders", "--json orders nonsense", "--foo --json"])
    expect(JSON.parse((await shown(line)).stderr)).toMatchObject({ ok: false, error: { code: "usage" } });
});

test("--no-color, NO_COLOR and TERM=dumb turn escape codes off", async () => {
  const harness = createHarness();
  await harness.start();
  const lines = [
    "orders create --order-id o-1 --price-id price_coffee",
    "orders create",
    "nonsense",
    "checklist",
  ];
  const escapes = async (line: string, env: Record<string, string> = {}): Promise<boolean> => {
    const { stdout, stderr } = await harness.run(line.split(" "), { terminal: true, env });
    return (stdout + stderr).includes("\u001b[");
  };
  expect(await escapes("checklist")).toBe(true);
  for (const line of lines) {
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { NO_COLOR: "1", FORCE_COLOR: "1" }])
      expect([line, env, await escapes(line, env)]).toEqual([line, env, false]);
    for (const typed of [`--no-color ${line}`, `${line} --no-color`])
      expect([typed, await escapes(typed, { FORCE_COLOR: "1" })]).toEqual([typed, false]);
  }
});

/** Commands that ask questions, each question with the typed answer. */
const QUESTIONS: readonly (readonly [line: string, typed: NonNullable<CommandOptions["typed"]>])[] = [
  [
    "orders create",
    [
      ["? ", ""],
      ["? ", "o-77"],
      ["? ", ""],
      ["? ", "19.99"],
      ["? ", "1999"],
      ["? ", "card"],
      ["? ", "wechat_pay"],
    ],
  ],
  ["sandbox reset", [["(y/N)", "yes"]]],
  ["stores create --name Tea", []],
  ["stores delete Tea", [["(y/N)", "y"]]],
];

test("with NO_COLOR or --no-color, answered and cancelled prompts have no escape codes", async () => {
  for (const [env, words] of [[{ NO_COLOR: "1" }, []] as const, [{}, ["--no-color"]] as const]) {
    const harness = createHarness();
    await harness.start();
    const run = (line: string, more: CommandOptions) =>
      harness.run([...line.split(" "), ...words], { terminal: true, env, ...more });
    for (const line of ["orders create", "sandbox reset"]) {
      const left = await run(line, { typed: [], world: { stdin: () => Readable.from([]) } });
      expect([line, left.code, left.stdout]).toEqual([line, 130, ""]);
      expect(left.stderr).not.toContain("\u001b");
    }
    for (const [line, typed] of QUESTIONS) {
      const { code, stdout, stderr } = await run(line, { typed });
      expect([line, code, (stdout + stderr).includes("\u001b")]).toEqual([line, 0, false]);
    }
  }
});

test("each command line that a new user may type with a sandbox has the expected output and exit code", async () => {
  expect(WITHOUT_SANDBOX.length + BESIDE_SANDBOX.length).toBeGreaterThanOrEqual(150);
  expect(await wrongRows(BESIDE_SANDBOX, openShop)).toEqual([]);
});

test("an error about an unreachable service names the source of its address, and an error about a wrong key names the mistake", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const apiKey = ready.api_key ?? "";
  const cwd = tempFolder();
  const away = {
    CHECKOUT_BASE_URL: "http://127.0.0.1:4999/v1",
    CHECKOUT_API_KEY: apiKey,
    CHECKOUT_RETRIES: "0",
  };
  const ID = "0199a3c4-5d00-7000-8000-00000000dead";
  const create = "orders create --order-id a-1 --price-id price_coffee";
  const from = inOrder("CHECKOUT_BASE_URL; ", ": checkout sandbox start --port 4999");
  const wrong = apiKey.endsWith("0") ? `${apiKey.slice(0, -1)}1` : `${apiKey.slice(0, -1)}0`;
  const here = { CHECKOUT_BASE_URL: ready.base_url };
  const rows: readonly (readonly [line: string, env: Record<string, string>, code: number, says: RegExp])[] =
    [
      [`sessions get ${ID}`, away, 7, from],
      [`sessions get ${ID} --wait --timeout 1s`, away, 7, /CHECKOUT_BASE_URL|1s/],
      [create, away, 7, from],
      [
        `${create} --base-url http://127.0.0.1:4998/v1`,
        away,
        7,
        inOrder("--base-url; ", ": checkout sandbox start --port 4998"),
      ],
      [
        "orders list",
        { ...away, CHECKOUT_CONTROL_TOKEN: "a-token-of-the-test" },
        7,
        /CHECKOUT_BASE_URL\n.*checkout sandbox start/,
      ],
      ["orders list", {}, 7, /\n.*checkout sandbox start/],
      [create, {}, 7, /\n.*checkout sandbox start/],
      [create, here, 4, inOrder(ready.base_url, "(CHECKOUT_BASE_URL)")],
      [create, { ...here, CHECKOUT_API_KEY: wrong }, 4, inOrder(KEY_FAULTS.mistyped_key)],
      [create, { ...here, CHECKOUT_API_KEY: apiKey.slice(0, -3) }, 4, inOrder(KEY_FAULTS.not_a_key)],
      [create, { ...here, CHECKOUT_API_KEY: "svc_live_abc" }, 4, /svc_test_/],
    ];
  for (const [line, env, code, says] of rows) {
    const shown = await harness.run(
      [...line.split(" "), "--retries", "0"].slice(0, line.startsWith("orders list") ? 2 : undefined),
      {
        cwd,
        env: { CHECKOUT_RETRIES: "0", ...env },
      },
    );
    expect([line, shown.code, shown.stdout]).toEqual([line, code, ""]);
    expect(shown.stderr, line).toMatch(says);
  }
});

test("if the environment names the folder's stopped sandbox, each command suggests sandbox start", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--port", "4321"]);
  const printed = await harness.run(["env", "--format", "json"]);
  await sandbox.stop();
  const env = { ...(JSON.parse(printed.stdout) as Record<string, string>), CHECKOUT_RETRIES: "0" };
  for (const line of ["orders list", "endpoints list", "sandbox clock show", "admin log", "env --control"]) {
    const { code, stdout, stderr } = await harness.run(line.split(" "), { env });
    // A shell that evaluates the output of `env` fails.
    expect([line, code, stdout]).toEqual([line, 7, line.startsWith("env") ? "(exit 7)\n" : ""]);
    expect(stderr, line).toMatch(/→ checkout sandbox start/);
  }
  const again = await harness.start(["--port", "4321"]);
  expect((await harness.run(["orders", "list"], { env })).code).toBe(0);
  await again.stop();
});

test("the refusal of a control or admin token names the token's variable", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const at = { CHECKOUT_BASE_URL: ready.base_url };
  const wrong = {
    CHECKOUT_CONTROL_TOKEN: "a-token-of-yesterday",
    CHECKOUT_ADMIN_TOKEN: "another-of-yesterday",
  };
  const swapped = {
    CHECKOUT_CONTROL_TOKEN: wrong.CHECKOUT_CONTROL_TOKEN,
    CHECKOUT_ADMIN_TOKEN: ready.control_token,
  };
  for (const [line, env, name] of [
    ["orders list", wrong, "CHECKOUT_CONTROL_TOKEN"],
    ["config export", wrong, "CHECKOUT_CONTROL_TOKEN"],
    ["events list --wait", wrong, "CHECKOUT_CONTROL_TOKEN"],
    ["listen", wrong, "CHECKOUT_CONTROL_TOKEN"],
    ["admin log", wrong, "CHECKOUT_ADMIN_TOKEN"],
    ["admin log", swapped, "CHECKOUT_ADMIN_TOKEN"],
  ] as const) {
    const { code, stderr } = await harness.run(line.split(" "), {
      cwd: tempFolder(),
      env: { ...at, ...env },
    });
    expect([line, code]).toEqual([line, 4]);
    expect(stderr, line).toMatch(new RegExp(`→ .*${name}`));
  }
});

test("orders create warns if the service returns another order than the journal has", async () => {
  const harness = createHarness();
  await harness.start();
  const create = ["orders", "create", "--order-id", "a-1", "--price-id", "price_coffee", "--json"];
  const idOf = ({ stdout }: Result): string => (JSON.parse(stdout) as { data: { id: string } }).data.id;
  const first = await harness.run(create);
  expect((await harness.run(create)).stderr).toBe("");
  expect((await harness.run(["sandbox", "clock", "advance", "31d"])).code).toBe(0);
  const other = await harness.run(create);
  expect(idOf(other)).not.toBe(idOf(first));
  expect(other.stderr).toMatch(inOrder(` ${idOf(first)}; `, ` ${idOf(other)}\n`));
});

/** Matches the line of a sign-in link, which is never wrapped, although the link is longer than 80 columns. */
const LINK_ALONE = /^ {2}\S+ +http:\/\/\S+$/;

test("no line of the banner of sandbox start is over 80 columns, except for links", async () => {
  const harness = createHarness();
  const running = await harness.launch(["sandbox", "start"]);
  await running.stop();
  const shown = (await harness.run(["sandbox", "start", "--detach"])).stdout;
  const lines = [...running.text().stdout.split("\n"), ...shown.split("\n")];
  expect(lines.filter((line) => line.startsWith("  export CHECKOUT_")).length).toBeGreaterThanOrEqual(3);
  expect(lines.filter((line) => line.length > 80 && !LINK_ALONE.test(line))).toEqual([]);
});

test("after rotate-secret, the banner of sandbox start says that its signing secret is the store's, not the endpoint's", async () => {
  const harness = createHarness();
  const banner = async (): Promise<string> => {
    const running = await harness.launch(["sandbox", "start"]);
    await running.stop();
    return running.text().stdout;
  };
  const first = await harness.start();
  const added = await harness.run(["endpoints", "add", "http://localhost:3000/hooks", "--json"]);
  await first.stop();
  expect(await banner()).toMatch(/ {2}whsec_\S+\n {2}\S/);
  const again = await harness.start();
  const { id } = JSON.parse(added.stdout) as { id: string };
  expect((await harness.run(["endpoints", "rotate-secret", id])).code).toBe(0);
  const reused = await harness.run(["sandbox", "start", "--reuse"]);
  await again.stop();
  const whose = / {2}whsec_\S+\n {18}.*: checkout endpoints secret\n {2}\S/;
  for (const shown of [reused.stdout, await banner()]) expect(shown).toMatch(whose);
});

/** Matches the note that the secret of the environment is not the endpoint's, and the command that prints that. */
const WHOSE_SECRET = /^.*CHECKOUT_SIGNING_SECRET .*: checkout endpoints secret\n/;

test("after rotate-secret, env says that its signing secret is the store's, not the endpoint's", async () => {
  const harness = createHarness();
  await harness.start();
  const typed = async (line: string) => harness.run(line.split(" "));
  await typed("stores create --name Tea");
  for (const store of ["", " --store Tea"]) {
    const add = `endpoints add http://localhost:3000/hooks --json${store}`;
    const { id } = JSON.parse((await typed(add)).stdout) as { id: string };
    const before = await typed(`env${store}`);
    expect([before.code, before.stderr]).toEqual([0, ""]);
    expect((await typed(`endpoints rotate-secret ${id}${store}`)).code).toBe(0);
    for (const form of ["", " --json", " --format dotenv"]) {
      const after = await typed(`env${store}${form}`);
      expect([store, form, after.code, after.stdout.includes("whsec_")]).toEqual([store, form, 0, true]);
      expect(after.stderr).toMatch(WHOSE_SECRET);
    }
    if (store !== "") expect((await typed(`exec${store} -- true`)).stderr).toMatch(WHOSE_SECRET);
  }
});

/** A sandbox with a paid, an expired and an open order, and an endpoint that answers 200. */
async function openShop(): Promise<Scene> {
  const { harness, control } = await openWebhookSite();
  const fine = { status: 200, headers: {}, body: "" };
  const shop = { answer: () => Promise.resolve(fine), refuse: () => fine };
  for (const port of [3000, 3001]) harness.occupy(port, shop);
  const told = async (line: string): Promise<string> =>
    (await harness.run([...line.split(" "), "--json"])).stdout;
  const id = (text: string, name = "id"): string => new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? "?";
  const created = (orderId: string) => told(`orders create --order-id ${orderId} --price-id price_coffee`);
  const [ENDPOINT, PAID, ENDED] = [
    id(await told("endpoints add http://localhost:3000/hooks")),
    id(await created("paid-1")),
    id(await created("ended-1")),
  ];
  await told(`sandbox pay ${PAID} --outcome succeeded`);
  await told(`sandbox pay ${ENDED} --outcome expired`);
  const OPEN = id(await created("open-1"));
  await control("/clock", { action: "advance", by_ms: 1 });
  return {
    run: (argv) => harness.run(argv),
    ids: {
      ENDPOINT: ENDPOINT.slice(-8),
      WHOLE_ENDPOINT: ENDPOINT,
      PAID,
      SHORT: PAID.slice(-8),
      OPEN,
      KEY: id(await told("keys create"), "key_id").slice(-8),
      EVENT: id(await told("events list"), "event_id"),
      REQUEST: id(await told("requests list"), "request_id"),
    },
  };
}

/** A folder in which rows are typed, and the ids for the words of its rows. */
type Scene = { readonly run: (argv: readonly string[]) => Promise<Result>; readonly ids: Ids };

/** The id for a word, ignoring inherited properties. */
function idFor(ids: Ids, word: string): string | undefined {
  return Object.hasOwn(ids, word) ? ids[word] : undefined;
}

/** The rows with a wrong result, as text or with `--json`. */
async function wrongRows(rows: readonly Row[], open: () => Promise<Scene>): Promise<readonly object[]> {
  const [people, programs] = [await open(), await open()];
  const type = (line: string, { run, ids }: Scene, ...before: string[]): Promise<Result> =>
    run([...before, ...line.split(" ").map((word) => idFor(ids, word) ?? word.replaceAll("␣", " "))]);
  const wrong: object[] = [];
  for (const [line, code, says] of rows) {
    const shown = await type(line, people);
    if (shown.code !== code || !says.test(resultText(shown)) || otherText(shown) !== "")
      wrong.push({ line, shown });
    const json = await type(line, programs, "--json");
    if (!isJsonOf(json, { code, says })) wrong.push({ line: `--json ${line}`, json });
  }
  return wrong;
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

/** The output of the command: stdout, or stderr after an error. */
function resultText({ code, stdout, stderr }: Result): string {
  return code === 0 ? stdout : stderr;
}

function otherText({ code, stdout, stderr }: Result): string {
  return code === 0 ? stderr : stdout;
}

/** Whether the result is one line of JSON with the same code and text; help is text with `--json` too. */
function isJsonOf(result: Result, { code, says }: { readonly code: number; readonly says: RegExp }): boolean {
  const text = resultText(result);
  if (result.code !== code || otherText(result) !== "") return false;
  if (text.startsWith("Usage: ")) return code === 0 && says.test(text);
  if (!/^\{.*\}\n$|^\[.*\]\n$/.test(text)) return false;
  const told = JSON.parse(text) as {
    ok?: boolean;
    error?: { message: string };
    next?: string;
    exit_code?: number;
  };
  if (code === 0) return told.error === undefined;
  if (told.ok !== false || told.exit_code !== code || !told.next) return false;
  return says.test(`✗ ${told.error?.message ?? ""}\n  → ${told.next}`);
}

test("--dir with the parent of a state folder suggests the state folder", async () => {
  const harness = createHarness();
  await harness.start();
  for (const line of ["orders list", "orders create --order-id a-1 --price-id price_coffee"]) {
    const env = { CHECKOUT_RETRIES: "0" };
    const told = await harness.run([...line.split(" "), "--dir", harness.cwd], { cwd: tempFolder(), env });
    expect([told.code, told.stdout]).toEqual([7, ""]);
    expect(told.stderr).toMatch(inOrder(join(harness.cwd, ".checkout"), "--dir"));
  }
});

test("the variables in the banner of an ephemeral sandbox select that sandbox in any folder", async () => {
  const harness = createHarness();
  const running = await harness.launch(["sandbox", "start", "--ephemeral"]);
  const shown = running.text().stdout;
  const [, url = ""] = /export CHECKOUT_BASE_URL=(\S+)/.exec(shown) ?? [];
  const [, token = ""] = / (svc_control_\S+)\n/.exec(shown) ?? [];
  expect(shown.split("\n").filter((line) => line.length > 80 && !LINK_ALONE.test(line))).toEqual([]);
  const cwd = tempFolder();
  const env = { CHECKOUT_BASE_URL: url, CHECKOUT_RETRIES: "0" };
  const lacking = await harness.run(["events", "list"], { cwd, env });
  expect([lacking.code, lacking.stdout]).toEqual([7, ""]);
  expect(lacking.stderr).toMatch(inOrder("(CHECKOUT_BASE_URL)", "(CHECKOUT_CONTROL_TOKEN)"));
  const listed = await harness.run(["events", "list"], {
    cwd,
    env: { ...env, CHECKOUT_CONTROL_TOKEN: token },
  });
  expect([listed.code, listed.stderr]).toEqual([0, ""]);
  await running.stop();
});
