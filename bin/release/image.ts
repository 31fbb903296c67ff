import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environmentOf, type Commit } from "./commit.ts";
import { DEBIAN } from "./platforms.ts";
import { inTemporaryFolder } from "./temporary.ts";

/** The whole base system: libraries that the executable loads, certificates, and an init process. */
const PACKAGES = ["base-files", "ca-certificates", "tini", ...DEBIAN.libraries];
/** The container's user, who owns only the state folder. */
const USER_NAME = "checkout";
/** An id that no base system uses. */
export const IMAGE_USER_ID = 10_001;
const STATE_FOLDER = "/var/lib/checkout";

const ENVIRONMENT = [
  "PATH=/usr/bin",
  `CHECKOUT_DIR=${STATE_FOLDER}`,
  "CHECKOUT_SANDBOX_PORT=4242",
  "CHECKOUT_SANDBOX_LISTEN=0.0.0.0",
  "CHECKOUT_SANDBOX_ALLOW_HOST=checkout",
];

/** Docker's health check, with times in nanoseconds; the OCI specification has no health checks. */
const HEALTH_CHECK = {
  Test: ["CMD", "/usr/bin/checkout", "sandbox", "wait", "--timeout", "3s"],
  Interval: 5_000_000_000,
  Timeout: 5_000_000_000,
  StartPeriod: 10_000_000_000,
  Retries: 3,
};

export type ImageInput = {
  readonly architecture: "amd64" | "arm64";
  readonly executable: string;
};

type ImageConfig = {
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, unknown>>;
};

/** `layout`: the folder of an OCI image layout. */
export function readImage(
  layout: string,
  architecture: string,
): { readonly config: ImageConfig; readonly layers: readonly string[] } {
  const { manifests: entries } = readJson(join(layout, "index.json")) as {
    readonly manifests: readonly Descriptor[];
  };
  const indexes = entries.map(
    ({ digest }) => readBlob(layout, digest) as { readonly manifests: readonly Descriptor[] },
  );
  const descriptor = indexes
    .flatMap(({ manifests }) => manifests)
    .find(({ platform }) => platform?.architecture === architecture);
  if (descriptor === undefined) throw new Error(`the image has no part for ${architecture}`);
  const manifest = readBlob(layout, descriptor.digest) as {
    readonly config: Descriptor;
    readonly layers: readonly Descriptor[];
  };
  const { config } = readBlob(layout, manifest.config.digest) as { readonly config: ImageConfig };
  return { config, layers: manifest.layers.map(({ digest }) => blobPath(layout, digest)) };
}

/** An OCI content descriptor: a reference to a blob. */
type Descriptor = {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: "linux"; readonly architecture: string };
};

/**
 * Writes an OCI layout with one image for each architecture. No step runs a program of the image, so no emulator is
 * needed.
 */
export function packImage(layout: string, inputs: readonly ImageInput[], commit: Commit): void {
  rmSync(layout, { recursive: true, force: true });
  const umoci = (...words: readonly string[]): void =>
    void execFileSync("umoci", words, { env: environmentOf(commit) });
  umoci("init", "--layout", layout);
  const manifests = inputs.map(({ architecture, executable }): Descriptor => {
    const image = `${layout}:${architecture}`;
    umoci("new", "--image", image);
    inTemporaryFolder((folder) => {
      const layer = packLayer(folder, { architecture, executable }, commit);
      umoci("raw", "add-layer", "--image", image, layer);
    });
    const settings = {
      "--os": ["linux"],
      "--architecture": [architecture],
      "--config.user": [String(IMAGE_USER_ID)],
      "--config.workingdir": [STATE_FOLDER],
      "--config.volume": [STATE_FOLDER],
      "--config.exposedports": ["4242/tcp"],
      "--config.env": ENVIRONMENT,
      "--config.entrypoint": ["/usr/bin/tini", "--", "/usr/bin/checkout"],
      "--config.cmd": ["sandbox", "start"],
      "--config.stopsignal": ["SIGTERM"],
      "--created": [commit.time.toISOString()],
      "--history.created": [commit.time.toISOString()],
    };
    const words = Object.entries(settings).flatMap(([option, values]) =>
      values.map((value) => `${option}=${value}`),
    );
    umoci("config", "--image", image, "--clear=config.entrypoint", "--clear=config.cmd", ...words);
    return addHealthCheck(layout, architecture);
  });
  writeIndex(layout, manifests);
}

/** Returns the layer's path. Fixed order, times and owners make the bytes reproducible. */
function packLayer(folder: string, { architecture, executable }: ImageInput, commit: Commit): string {
  const root = join(folder, "root");
  const options = [
    "--quiet",
    "--variant=extract",
    `--arch=${architecture}`,
    `--include=${PACKAGES.join(",")}`,
  ];
  execFileSync("mmdebstrap", [...options, DEBIAN.suite, root], {
    env: environmentOf(commit),
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (const unusedFolder of [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/perl5",
    "usr/share/locale",
    "var/lib/apt",
    "var/cache",
  ])
    rmSync(join(root, unusedFolder), { recursive: true, force: true });
  copyFileSync(executable, join(root, "usr/bin/checkout"));
  writeFileSync(
    join(root, "etc/passwd"),
    `root:x:0:0::/root:/sbin/nologin\n${USER_NAME}:x:${IMAGE_USER_ID}:${IMAGE_USER_ID}::${STATE_FOLDER}:/sbin/nologin\n`,
  );
  writeFileSync(join(root, "etc/group"), `root:x:0:\n${USER_NAME}:x:${IMAGE_USER_ID}:\n`);
  mkdirSync(join(root, STATE_FOLDER), { mode: 0o700 });
  execFileSync("chown", ["-R", "0:0", root]);
  execFileSync("chown", [`${IMAGE_USER_ID}:${IMAGE_USER_ID}`, join(root, STATE_FOLDER)]);
  execFileSync("chmod", ["0755", join(root, "usr/bin/checkout"), root]);
  const fixedOptions = ["--sort=name", `--mtime=@${commit.time.getTime() / 1000}`, "--numeric-owner"];
  const layer = join(folder, "layer.tar");
  execFileSync("tar", ["-cf", layer, ...fixedOptions, "-C", root, "."]);
  return layer;
}

/**
 * umoci has no option for health checks, so the configuration is changed here. Returns the new manifest's descriptor.
 */
function addHealthCheck(layout: string, architecture: string): Descriptor {
  const index = readJson(join(layout, "index.json")) as {
    manifests: (Descriptor & { annotations: Record<string, string> })[];
  };
  const descriptor = index.manifests.find(
    ({ annotations }) => annotations["org.opencontainers.image.ref.name"] === architecture,
  );
  if (descriptor === undefined) throw new Error(`umoci made no image for ${architecture}`);
  const manifest = readBlob(layout, descriptor.digest) as { config: Descriptor };
  const config = readBlob(layout, manifest.config.digest) as { config: object };
  const newConfig = { ...config, config: { ...config.config, Healthcheck: HEALTH_CHECK } };
  const configBlob = writeBlob(layout, manifest.config.mediaType, newConfig);
  const manifestBlob = writeBlob(layout, descriptor.mediaType, { ...manifest, config: configBlob });
  return { ...manifestBlob, platform: { os: "linux", architecture } };
}

/** Replaces the layout's entries by one index with all architectures. */
function writeIndex(layout: string, manifests: readonly Descriptor[]): void {
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const indexBlob = writeBlob(layout, mediaType, { schemaVersion: 2, mediaType, manifests });
  const latest = { ...indexBlob, annotations: { "org.opencontainers.image.ref.name": "latest" } };
  writeFileSync(
    join(layout, "index.json"),
    JSON.stringify({ schemaVersion: 2, mediaType, manifests: [latest] }),
  );
  execFileSync("umoci", ["gc", "--layout", layout]);
}

function blobPath(layout: string, digest: string): string {
  return join(layout, "blobs", ...digest.split(":"));
}

function readBlob(layout: string, digest: string): unknown {
  return readJson(blobPath(layout, digest));
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

function writeBlob(layout: string, mediaType: string, content: object): Descriptor {
  const bytes = Buffer.from(JSON.stringify(content));
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  writeFileSync(blobPath(layout, digest), bytes);
  return { mediaType, digest, size: bytes.length };
}
