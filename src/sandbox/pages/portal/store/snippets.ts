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

export type Snippets = (typeof SNIPPETS)[number];

export const SNIPPETS = [
  { id: "cli", name: "CLI", create: createCli, verify: verifyCli },
  { id: "curl", name: "curl", create: createCurl, verify: verifyCurl },
  { id: "node", name: "Node", create: createNode, verify: verifyNode },
  { id: "python", name: "Python", create: createPython, verify: verifyPython },
  { id: "php", name: "PHP", create: createPhp, verify: verifyPhp },
] as const;
