import { main } from "../src/cli/main.ts";
import { nameSources } from "../src/world/machine.ts";
import { exitProgram } from "../src/world/output.ts";
import { realWorld } from "../src/world/real.ts";

nameSources();
void main(realWorld()).then(exitProgram);
