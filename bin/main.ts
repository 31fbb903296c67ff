import { main } from "../src/cli/main.ts";
import { realWorld } from "../src/real-world.ts";

void main(realWorld()).then((exitCode) => {
  process.exitCode = exitCode;
});
