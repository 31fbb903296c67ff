import { join } from "node:path";
import { expect, test } from "vitest";
import { errorsPage } from "../../bin/docs/errors.ts";
import { jsonPage } from "../../bin/docs/json.ts";
import { settingsPage } from "../../bin/docs/settings.ts";
import { GENERATED } from "../support/documents.ts";
import { REAL } from "../support/real.ts";

const REGISTRY = { world: REAL, version: "0.0.0", exit: () => undefined };

/** The generated pages of docs/; `npm run docs` writes them by updating these file snapshots. */
const MAKERS: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/settings.md": () => settingsPage(REGISTRY),
  "docs/errors.md": errorsPage,
  "docs/json.md": jsonPage,
};

test.for(Object.entries(MAKERS))("%s equals the output of npm run docs", async ([name, make]) => {
  await expect(await make()).toMatchFileSnapshot(join(import.meta.dirname, "../..", name));
});

test("every generated page has a generator", () => {
  expect(Object.keys(MAKERS).toSorted()).toEqual([...GENERATED].toSorted());
});
