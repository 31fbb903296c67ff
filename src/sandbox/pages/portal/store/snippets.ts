import createCli from "./snippets/create-cli.sh?raw";
import createCurl from "./snippets/create-curl.sh?raw";
import createNode from "./snippets/create.mjs.txt?raw";
import createPhp from "./snippets/create.php?raw";
import createPython from "./snippets/create.py?raw";
import verifyCli from "./snippets/verify-cli.sh?raw";
import verifyCurl from "./snippets/verify-curl.sh?raw";
import verifyNode from "./snippets/verify.mjs.txt?raw";
import verifyPhp from "./snippets/verify.php?raw";
import verifyPython from "./snippets/verify.py?raw";

/** How to create an order and to verify a webhook, in one language. Tests run each of these files as it is shown. */
export type Snippets = {
  /** What the address of its tab says. */
  readonly id: string;
  readonly name: string;
  readonly create: string;
  readonly verify: string;
};

/** The first one is shown where none was chosen. */
const CLI: Snippets = { id: "cli", name: "CLI", create: createCli, verify: verifyCli };

/** The snippets of all languages, in the order of their tabs. */
export const SNIPPETS: readonly Snippets[] = [
  CLI,
  { id: "curl", name: "curl", create: createCurl, verify: verifyCurl },
  { id: "node", name: "Node", create: createNode, verify: verifyNode },
  { id: "python", name: "Python", create: createPython, verify: verifyPython },
  { id: "php", name: "PHP", create: createPhp, verify: verifyPhp },
];

/** The snippets of a tab; those of the first one where there is no such tab. */
export function snippetsOf(id: string | null): Snippets {
  return SNIPPETS.find((one) => one.id === id) ?? CLI;
}
