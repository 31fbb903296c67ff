import { main } from "../src/cli/main.ts";
import { enableSourceMaps } from "../src/world/machine.ts";
import { exitProgram } from "../src/world/output.ts";
import { realWorld } from "../src/world/real.ts";

enableSourceMaps();
void main(realWorld()).then(exitProgram);
