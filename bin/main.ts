import { main } from "../src/cli/main.ts";
import { exitProgram } from "../src/world/output.ts";
import { realWorld } from "../src/world/real.ts";

void main(realWorld()).then(exitProgram);
