import { createMutex } from "../../core/mutex.ts";
import { takeToken, type Bucket, type RateLimit } from "../../core/request/rate-limit.ts";
import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import { diagnoseInSteps, type DiagnoseOptions } from "../../core/webhook/diagnosis/diagnose.ts";
import type { World } from "../../world.ts";

export type CauseSearch = Readonly<ReturnType<typeof createCauseSearch>>;

const MIB = 1024 * 1024;
/** In hashed bytes: several seconds of work after idle time, then a small share of one core. */
const BUDGET: RateLimit = { perSecond: 64 * MIB, burst: 1024 * MIB };
/** The bytes that a search hashes, in a few milliseconds, before it yields to other work. */
const SLICE_BYTES = MIB;
const MAX_QUEUED = 16;

/** Limits the work of searches, because anyone can send unsigned requests. Beyond the limits, no causes are found. */
export function createCauseSearch(world: Pick<World, "now" | "soon">, budget = BUDGET) {
  const runInTurn = createMutex();
  let bucket: Bucket | undefined;
  let waitingCount = 0;
  let isStopped = false;

  const take = (bytes: number): boolean => {
    const tokenResult = takeToken(budget, bucket, world.now(), bytes);
    bucket = tokenResult.bucket;
    return tokenResult.outcome.ok;
  };
  const search = async (request: DiagnoseOptions): Promise<readonly Diagnosis[]> => {
    let sliceBytes = SLICE_BYTES;
    for (const steps = diagnoseInSteps(request); ;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      sliceBytes += step.value;
      if (sliceBytes >= SLICE_BYTES) {
        await new Promise<void>((resolve) => world.soon(resolve));
        sliceBytes = step.value;
      }
      if (isStopped || !take(step.value)) return [];
    }
  };
  return {
    causesOf: async (request: DiagnoseOptions): Promise<readonly Diagnosis[]> => {
      if (waitingCount >= MAX_QUEUED) return [];
      waitingCount += 1;
      try {
        return await runInTurn("search", () => search(request));
      } finally {
        waitingCount -= 1;
      }
    },
    stop: (): void => {
      isStopped = true;
    },
  };
}
