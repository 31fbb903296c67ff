import { serveHttp } from "../../src/web/server/serve.ts";
import { realWorld } from "../../src/world/real.ts";

const world = realWorld();

/**
 * The real world of this process, shared by all tests, because it listens for errors of the standard streams. Its
 * servers do not free memory when they are idle, which would collect the garbage of all other tests too.
 */
export const REAL = {
  ...world,
  listen: (makeService, options) => serveHttp(makeService, { ...options, after: world.after }),
} satisfies typeof world;
