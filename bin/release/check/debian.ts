import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_USER_ID } from "../image.ts";
import { DEBIAN } from "../platforms.ts";
import { makeBundle } from "./bundle.ts";
import { walkJourneysIn } from "./journeys.ts";
import { makeRoot, run } from "./run.ts";

/** Needed by the executable and by the shop in Python. */
const PACKAGES = [...DEBIAN.libraries, "python3", "curl"];
const SHOP = "fixtures/shops/python/shop.py";

/** Makes a minimal Debian, and throws if it contains Node. */
export function makeDebian(root: string): string {
  makeRoot(root, ["--variant=essential"], PACKAGES);
  copyFileSync(SHOP, join(root, "shop.py"));
  writeFileSync(join(root, "trial.sh"), TRIAL);
  mkdirSync(join(root, "reader"), { recursive: true, mode: 0o555 });
  return run("chroot", [root, "sh", "-c", "cat /etc/debian_version; ! command -v node"]);
}

/**
 * The steps of a new user, until the checklist is ready. `$1` starts a sandbox unless one is running, and sets the
 * variables.
 */
const TRIAL = `set -eu
export HOME=/reader TMPDIR=/tmp PATH=/usr/bin:/bin
cd "$(mktemp -d)"
cp /shop.py .
npx() { "$@"; }
eval "$1"
checkout orders create --order-id trial-1 --price-id price_coffee
checkout sandbox pay trial-1 --outcome succeeded
python3 shop.py > shop.log 2>&1 & shop=$!
trap 'kill $shop || true; checkout sandbox stop > stop.log 2>&1 || true' EXIT
checkout listen --forward http://localhost:3000/hooks > listen.log 2>&1 & listener=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do curl -fs -d order_id=trial-2 http://localhost:3000/buy >/dev/null && break; sleep 1; done
sleep 3
checkout sandbox pay trial-2 --outcome succeeded
sleep 3
kill -INT $listener; wait $listener || true
grep -q 'succeeded .*→ 200' listen.log || { cat listen.log; exit 1; }
sed -n '/^    npx checkout endpoints/,/^"""/p' shop.py | sed '/^"""/d' > steps.sh
. ./steps.sh > steps.log 2>&1 || { tail -30 steps.log; exit 1; }
tail -3 steps.log | grep -i ready
`;

const OWN_SANDBOX = 'checkout sandbox start --detach --port 0 && eval "$(checkout env)"';

/**
 * Runs as an unprivileged user whose only network is loopback: a separate one, or the loopback of the process
 * `networkPid`.
 */
function runInRoot(root: string, command: string, networkPid?: number): string {
  const script = [
    `mount -t proc proc '${root}/proc'`,
    `mount --bind /dev '${root}/dev'`,
    "ip link set lo up",
    `exec chroot --userspec=${IMAGE_USER_ID}:${IMAGE_USER_ID} '${root}' sh -c "$1"`,
  ].join(" && ");
  const isolation = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", command];
  if (networkPid === undefined) return run("unshare", ["--net", ...isolation]);
  return run("nsenter", ["--target", String(networkPid), "--net", "unshare", ...isolation]);
}

/** Returns the trial's last line, which says that the shop is ready. */
function runTrial(root: string, startCommand: string, networkPid?: number): string {
  return runInRoot(root, `sh /trial.sh '${startCommand}'`, networkPid).split("\n").at(-1) ?? "";
}

export function tryExecutable(root: string, executable: string): string {
  install(root, executable);
  return runTrial(root, OWN_SANDBOX);
}

/** Installs, tries and removes the package; throws if files remain. */
export function tryDebianPackage(root: string, deb: string): string {
  rmSync(join(root, "usr/bin/checkout"));
  copyFileSync(deb, join(root, "package.deb"));
  run("chroot", [root, "dpkg", "--install", "/package.deb"]);
  const readyLine = runTrial(root, OWN_SANDBOX);
  const journeysText = walkJourneysIn(root, "Debian package");
  run("chroot", [root, "dpkg", "--purge", "hosted-checkout"]);
  run("chroot", [root, "sh", "-c", "! command -v checkout && test ! -e /usr/share/doc/hosted-checkout"]);
  return `${readyLine}; ${journeysText}; removed without a rest`;
}

/**
 * Runs the image with a read-only root, and tries its sandbox with the shop and the executable in the Debian `root`.
 */
export function tryImage(root: string, { folder, executable }: ImageTrial): string {
  install(root, executable);
  const keys = runInRoot(root, "checkout keys generate").split("\n");
  const bundle = join(folder, "bundle");
  makeBundle(bundle, { env: keys });
  const name = `checkout-release-${process.pid}`;
  // No pipes: this process would wait for them as long as the container runs.
  execFileSync("runc", ["run", "--detach", "--bundle", bundle, name], { stdio: "ignore" });
  try {
    run("runc", ["exec", name, "/usr/bin/checkout", "sandbox", "wait", "--timeout", "20s"]);
    const state = JSON.parse(run("runc", ["state", name])) as { readonly pid: number };
    const variables = keys.map((line) => `export ${line.replace("CHECKOUT_SANDBOX_", "CHECKOUT_")}`);
    writeFileSync(
      join(root, "image.env"),
      `export CHECKOUT_BASE_URL=http://127.0.0.1:4242/v1\n${variables.join("\n")}\n`,
    );
    const readyLine = runTrial(root, ". /image.env", state.pid);
    const journeysText = walkJourneysIn(join(bundle, "rootfs"), "image");
    return `${readyLine}; read-only, as user ${IMAGE_USER_ID}; ${journeysText}`;
  } finally {
    run("runc", ["delete", "--force", name]);
  }
}

type ImageTrial = { readonly folder: string; readonly executable: string };

function install(root: string, executable: string): void {
  copyFileSync(executable, join(root, "usr/bin/checkout"));
  chmodSync(join(root, "usr/bin/checkout"), 0o755);
}
