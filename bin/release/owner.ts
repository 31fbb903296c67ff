/**
 * The address of the public repository, such as `https://github.com/owner/name`; the owner has to fill it in. While it
 * is empty, no package names a repository, and manifests contain `MISSING_REPOSITORY` instead.
 */
export const REPOSITORY: string = "";

/** The address in manifests while the address of the repository is not known. */
export const MISSING_REPOSITORY = "https://REPOSITORY-IS-NOT-SET.invalid";

/** The fields of `package.json` that contain the address of a repository; none if the address is empty. */
export function repositoryFields(repository: string): Readonly<Record<string, unknown>> {
  if (repository === "") return {};
  return {
    repository: { type: "git", url: `git+${repository}.git` },
    bugs: { url: `${repository}/issues` },
    homepage: `${repository}#readme`,
  };
}

/** Name and address of the maintainer of the packages; the owner has to fill them in. */
export const MAINTAINER = "Hosted Checkout <maintainer@repository-is-not-set.invalid>";
