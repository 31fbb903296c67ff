/**
 * To be filled in by the owner, such as `https://github.com/owner/name`. While this is empty, packages name no
 * repository, and manifests contain `MISSING_REPOSITORY`.
 */
export const REPOSITORY: string = "";

export const MISSING_REPOSITORY = "https://REPOSITORY-IS-NOT-SET.invalid";

/** Fields for `package.json`; none if `repository` is empty. */
export function repositoryFields(repository: string): Readonly<Record<string, unknown>> {
  if (repository === "") return {};
  return {
    repository: { type: "git", url: `git+${repository}.git` },
    bugs: { url: `${repository}/issues` },
    homepage: `${repository}#readme`,
  };
}

/** To be filled in by the owner: the maintainer of the packages. */
export const MAINTAINER = "Hosted Checkout <maintainer@repository-is-not-set.invalid>";
