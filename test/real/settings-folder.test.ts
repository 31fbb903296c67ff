import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sectionHash } from "../../src/core/judge/shop.ts";
import { run } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { NO_SANDBOX } from "../../src/cli/problem.ts";

test("the confirmation of a configuration file's commands is read from the user's settings folder", async () => {
  const cwd = tempFolder();
  const shop = { create: "create-order" };
  writeFileSync(join(cwd, "checkout.config.json"), JSON.stringify({ shop }));
  const confirmed = JSON.stringify({ [cwd]: sectionHash(shop) });
  for (const [named, folder] of [
    ["settings", "settings/hosted-checkout"],
    ["relative", ".config/hosted-checkout"],
  ] as const) {
    const home = tempFolder();
    const env = { HOME: home, XDG_CONFIG_HOME: named === "settings" ? join(home, named) : named };
    const refused = await run(["shop", "check", "--json"], { cwd, env });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("config_not_trusted")]);
    mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
    writeFileSync(join(home, folder, "trusted-shops.json"), confirmed, { mode: 0o600 });
    const asked = await run(["shop", "check"], { cwd, env });
    expect([asked.code, asked.stderr]).toEqual([7, expect.stringContaining(NO_SANDBOX)]);
  }
});
