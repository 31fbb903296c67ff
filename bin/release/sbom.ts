import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import type { Commit } from "./commit.ts";

export type Part = { readonly name: string; readonly version: string; readonly license?: string | undefined };

/** Each package once, because a duplicate would get a random reference. */
export function packagesIn(folders: Iterable<string>): readonly Part[] {
  return [...new Set(folders)].map(
    (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Part,
  );
}

/**
 * A CycloneDX document. Serial number and time come from the commit, so that two builds of a commit have equal bytes.
 */
export function sbomOf(
  program: Part,
  {
    packages,
    programs,
    commit,
  }: { readonly packages: readonly Part[]; readonly programs: readonly Part[]; readonly commit: Commit },
): string {
  const bom = new Models.Bom({ serialNumber: serialNumber(commit), version: 1 });
  bom.metadata.timestamp = commit.time;
  bom.metadata.component = componentOf(program, Enums.ComponentType.Application, `npm/${program.name}`);
  for (const part of packages)
    bom.components.add(
      componentOf(part, Enums.ComponentType.Library, `npm/${part.name.replace("@", "%40")}`),
    );
  for (const part of programs)
    bom.components.add(componentOf(part, Enums.ComponentType.Library, `generic/${part.name}`));
  const normalizer = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return `${new Serialize.JsonSerializer(normalizer).serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function componentOf(part: Part, type: Enums.ComponentType, path: string): Models.Component {
  const component = new Models.Component(type, part.name, {
    version: part.version,
    bomRef: `${path}@${part.version}`,
  });
  component.purl = `pkg:${path}@${part.version}`;
  if (part.license !== undefined && part.license !== "UNLICENSED")
    component.licenses.add(new Models.LicenseExpression(part.license));
  return component;
}

/** A UUID in the format of version 5, derived from the commit. */
function serialNumber({ hash }: Commit): string {
  const digits = createHash("sha256").update(hash).digest("hex");
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 3) | 8).toString(16);
  const groups = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `5${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ];
  return `urn:uuid:${groups.join("-")}`;
}
