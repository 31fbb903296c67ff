import { main } from "../src/cli/main.ts";
import { leave, realWorld } from "../src/real-world.ts";

void main(realWorld()).then(leave);
