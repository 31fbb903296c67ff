import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_USER_ID, readImage } from "../image.ts";
import { IMAGE_LAYOUT } from "../release.ts";
import { run } from "./run.ts";

/** `env` is added to the image's variables; `args` replaces the image's command. */
type Process = { readonly env: readonly string[]; readonly args?: readonly string[] };

/**
 * Makes a bundle for runc from the amd64 image: with a read-only root, a network of its own, and the volumes in memory.
 */
export function makeBundle(bundle: string, { env, args }: Process): void {
  const { config, layers } = readImage(IMAGE_LAYOUT, "amd64");
  mkdirSync(join(bundle, "rootfs"), { recursive: true });
  for (const layer of layers) run("tar", ["-xf", layer, "-C", join(bundle, "rootfs")]);
  run("runc", ["spec"], bundle);
  const path = join(bundle, "config.json");
  const spec = JSON.parse(readFileSync(path, "utf8")) as RuncSpec;
  const { Entrypoint, Cmd, Env, WorkingDir, Volumes } = config;
  const process = {
    terminal: false,
    user: { uid: IMAGE_USER_ID, gid: IMAGE_USER_ID },
    args: args ?? [...Entrypoint, ...Cmd],
    env: [...Env, ...env],
    cwd: WorkingDir,
  };
  const ownerOptions = ["nosuid", "nodev", "mode=0700", `uid=${IMAGE_USER_ID}`, `gid=${IMAGE_USER_ID}`];
  const volumes = Object.keys(Volumes).map((destination) => ({
    destination,
    type: "tmpfs",
    source: "tmpfs",
    options: ownerOptions,
  }));
  const fullSpec = {
    ...spec,
    process: { ...spec.process, ...process },
    root: { ...spec.root, readonly: true },
    mounts: [...spec.mounts, ...volumes],
  };
  writeFileSync(path, JSON.stringify(fullSpec));
}

type RuncSpec = { readonly process: object; readonly root: object; readonly mounts: readonly object[] };
