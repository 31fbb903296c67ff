import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { environmentOf, type Commit } from "./commit.ts";
import { MAINTAINER } from "./owner.ts";
import { fillFields } from "./template.ts";
import { inTemporaryFolder } from "./temporary.ts";

/** `checkout` alone would suggest a tool for version control. */
const NAME = "hosted-checkout";
const TEMPLATES = "fixtures/packages/debian";

export type DebianInput = {
  readonly version: string;
  readonly architecture: "amd64" | "arm64";
  /** Paths of the executable and of the file with its licence texts. */
  readonly executable: string;
  readonly licenses: string;
  readonly commit: Commit;
};

/** Returns the file name of the package. */
export function packDebian(folder: string, input: DebianInput): string {
  const { version, architecture, commit } = input;
  const values = { version, architecture, maintainer: MAINTAINER, date: rfcDate(commit.time) };
  return inTemporaryFolder((root) => {
    const put = (path: string, content: Uint8Array | string, mode = 0o644): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
      chmodSync(join(root, path), mode);
    };
    put("DEBIAN/control", fillTemplate("control", values));
    put(`usr/share/doc/${NAME}/copyright`, fillTemplate("copyright", values));
    const licenses = gzipSync(readFileSync(input.licenses), { level: 9 });
    put(`usr/share/doc/${NAME}/THIRD-PARTY-LICENSES.txt.gz`, licenses);
    put(`usr/share/doc/${NAME}/changelog.gz`, gzipSync(fillTemplate("changelog", values), { level: 9 }));
    put(`usr/share/lintian/overrides/${NAME}`, fillTemplate("lintian-overrides", values));
    put("usr/bin/checkout", "", 0o755);
    copyFileSync(input.executable, join(root, "usr/bin/checkout"));
    // Under a strict umask, `mkdirSync` makes folders that only root can read.
    execFileSync("chmod", ["-R", "u=rwX,go=rX", root]);
    const name = `${NAME}_${version}_${architecture}.deb`;
    const options = ["--root-owner-group", "-Zxz", "--build", root, join(folder, name)];
    execFileSync("dpkg-deb", options, { env: environmentOf(commit), stdio: ["ignore", "ignore", "inherit"] });
    return name;
  });
}

function fillTemplate(name: string, values: Readonly<Record<string, string>>): string {
  const text = fillFields(readFileSync(join(TEMPLATES, name), "utf8"), (field) => values[field]);
  if (text === undefined)
    throw new Error(
      `${TEMPLATES}/${name} has a field without a value: ${Object.keys(values).join(", ")} are known`,
    );
  return text;
}

/** The date format of a Debian changelog: `Thu, 26 Nov 2026 23:55:57 +0000`. */
function rfcDate(time: Date): string {
  return time.toUTCString().replace("GMT", "+0000");
}
