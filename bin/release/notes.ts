/** The section of a version in `CHANGELOG.md`, without its heading. Throws if the section is missing. */
export function notesOf(changelog: string, version: string): string {
  const section = changelog.split(/^## /m).find((part) => part.startsWith(`${version}\n`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}": write it first`);
  return `${section.slice(version.length).trim()}\n`;
}
