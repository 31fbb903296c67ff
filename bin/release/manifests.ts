import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MISSING_REPOSITORY } from "./owner.ts";
import { fillFields } from "./template.ts";

/** `sha256`: hexadecimal digits. */
export type ReleasedFile = { readonly name: string; readonly sha256: string };

/** `repository`: the address of the repository; empty if unknown. */
export type Release = {
  readonly version: string;
  readonly files: readonly ReleasedFile[];
  readonly repository: string;
};

const TEMPLATES = "fixtures/packages";
const MANAGERS = ["homebrew", "scoop", "winget"];
/** Returns hexadecimal digits. */
export function sha256Of(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** The format that `sha256sum --check` reads. */
export function sumsOf(files: readonly ReleasedFile[]): string {
  return files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");
}

/**
 * Manifests by path. Omits paragraphs that need a missing file: until a Mac has built its executables, Homebrew's
 * formula does not name macOS.
 */
export function manifestsOf(release: Release): ReadonlyMap<string, string> {
  const templates = MANAGERS.flatMap((manager) =>
    readdirSync(join(TEMPLATES, manager)).map((name) => `${manager}/${name}`),
  );
  const manifests = templates.map(
    (path) => [path, fill(readFileSync(join(TEMPLATES, path), "utf8"), release)] as const,
  );
  return new Map(manifests.filter(([, text]) => text !== ""));
}

/**
 * Fields: {{version}}, {{repository}}, and {{url E}}, {{sha256 E}} or {{name E}} of the file whose name ends with E.
 */
export function fill(template: string, { version, files, repository }: Release): string {
  const address = repository === "" ? MISSING_REPOSITORY : repository;
  const valueOf = (field: string, ending: string): string | undefined => {
    if (field === "version") return version;
    if (field === "repository") return address;
    const file = files.find(({ name }) => name.endsWith(ending));
    if (file === undefined) return undefined;
    return field === "url" ? `${address}/releases/download/v${version}/${file.name}` : file[fieldOf(field)];
  };
  const paragraphs = template.trimEnd().split("\n\n");
  const filledParagraphs = paragraphs.flatMap((paragraph) => fillFields(paragraph, valueOf) ?? []);
  return filledParagraphs.length === 0 ? "" : `${filledParagraphs.join("\n\n")}\n`;
}

function fieldOf(field: string): keyof ReleasedFile {
  if (field === "sha256" || field === "name") return field;
  throw new Error(`a template names ${field}: version, repository, url, name and sha256 are known`);
}
