/** `npm run release:check`: builds a release, tests it on this machine, and prints the results. */
import { CHECK_TOOLS, requireTools } from "./tools.ts";
import { checkRelease } from "./check/check.ts";

try {
  requireTools(CHECK_TOOLS);
  if (process.getuid?.() !== 0)
    throw new Error("run this as root: it makes a Debian in a folder and changes into it");
  const rows = await checkRelease((step) => console.error(step));
  for (const { name, failure, detail } of rows)
    console.log(`${failure === undefined ? "✓" : "✗"} ${name.padEnd(40)} ${failure ?? detail}`);
  const failedCount = rows.filter(({ failure }) => failure !== undefined).length;
  console.log(`\n${rows.length - failedCount} passed, ${failedCount} failed`);
  process.exitCode = failedCount === 0 ? 0 : 1;
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
