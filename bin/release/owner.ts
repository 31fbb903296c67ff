/**
 * The address of the public repository, such as `https://github.com/owner/name`: for the owner to fill in. While it is
 * empty, no package names a repository, and manifests contain `MISSING_REPOSITORY` instead.
 */
export const REPOSITORY: string = "";

/** Replaces the address of the repository in manifests while it is not known. */
export const MISSING_REPOSITORY = "https://REPOSITORY-IS-NOT-SET.invalid";

/** The fields of `package.json` that follow from the address of a repository; none if it is empty. */
export function repositoryFields(repository: string): Readonly<Record<string, unknown>> {
  if (repository === "") return {};
  return {
    repository: { type: "git", url: `git+${repository}.git` },
    bugs: { url: `${repository}/issues` },
    homepage: `${repository}#readme`,
  };
}

/** Name and address of the maintainer of packages: for the owner to fill in. */
export const MAINTAINER = "Hosted Checkout <maintainer@repository-is-not-set.invalid>";
