import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { enableSourceMaps } from "../../src/world/machine.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("a stack trace is shown unchanged if its source map cannot be parsed", () => {
  const prepareStackTrace: unknown = Reflect.get(Error, "prepareStackTrace");
  onTestFinished(() => void Object.assign(Error, { prepareStackTrace }));
  enableSourceMaps();
  for (const map of ["{", "null", '{"version":3}']) {
    const file = join(tempFolder(), "program.js");
    writeFileSync(`${file}.map`, map);
    const site = { toString: () => `run (${file}:1:2)` } as NodeJS.CallSite;
    expect([map, Error.prepareStackTrace?.(new Error("lost"), [site])]).toEqual([
      map,
      `Error: lost\n    at run (${file}:1:2)`,
    ]);
  }
});
