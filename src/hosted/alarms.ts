import type { ObjectStorage } from "cloudflare:workers";
import { realTimeOf } from "../core/clock.ts";
import type { Store } from "../store/store.ts";
import type { WorkerWorld } from "./world.ts";

const ALARM_DELAY_MS = 10_000;

/** While the object is in memory, timers do its work; the durable alarm only restarts the object. */
export function createObjectAlarm(
  storage: Pick<ObjectStorage, "getAlarm" | "setAlarm" | "deleteAlarm">,
  { now }: Pick<WorkerWorld, "now">,
  storedAlarm: number | null,
) {
  let alarmAt = storedAlarm ?? Number.POSITIVE_INFINITY;
  const arm = (time: number): Promise<void> => {
    alarmAt = time;
    return storage.setAlarm(time);
  };
  return {
    /** Call after each write, which may have created due work. Keeps an alarm that fires within `ALARM_DELAY_MS`. */
    onWrite: (): void => {
      // Not awaited, because the runtime commits the alarm together with the rows.
      if (alarmAt > now() + ALARM_DELAY_MS || alarmAt <= now()) void arm(now() + ALARM_DELAY_MS);
    },
    settle: async (store: Store): Promise<void> => {
      const dueAt = nextDueAt(store);
      alarmAt = Number.POSITIVE_INFINITY;
      if (dueAt === undefined) await storage.deleteAlarm();
      else await arm(Math.max(dueAt, now() + ALARM_DELAY_MS));
    },
  };
}

function nextDueAt({ clocks, settlements, endpoints, deliveries }: Store): number | undefined {
  const times = clocks.storeIds().flatMap((storeId) => {
    const clock = clocks.of(storeId);
    if (clock === undefined) return [];
    const dueTimes = [
      settlements.next(storeId)?.dueAt,
      ...endpoints
        .of(storeId)
        .filter(({ state }) => state === "enabled")
        .map(({ id }) => deliveries.next(id)[0]?.nextAt),
    ];
    return dueTimes.flatMap((time) => (time === undefined ? [] : (realTimeOf(clock, time) ?? [])));
  });
  return times.length === 0 ? undefined : Math.min(...times);
}
