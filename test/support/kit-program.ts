/**
 * Prints the kit's results for one seed, with the state in memory or in the folder of the argument, to compare versions
 * of Node.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { transcript } from "./kit-transcript.ts";

type Kit = typeof import("../../src/testing/testing.ts");

const [folder] = process.argv.slice(2);
const path = join(import.meta.dirname, "../../dist/testing");
const required = createRequire(import.meta.url)(`${path}.cjs`) as Kit;
const imported = (await import(`${path}.mjs`)) as Kit;
// Both module systems must load the same program, so that an error's class is the same in both.
if (required.CheckoutError !== imported.CheckoutError) throw new Error("there are two of them");
const options = { seed: "s", ...(folder === undefined ? {} : { state: { folder } }) };
process.stdout.write(await transcript(imported.startSandbox, options));
