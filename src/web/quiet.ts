import type { Service, World } from "../world.ts";
import { headerLines } from "./http.ts";

type QuietOptions = Pick<World, "after" | "monotonic"> & {
  readonly quietMs: number;
  readonly onQuiet: () => void;
};

/** Calls `onQuiet` when no request has come for `quietMs`; polls of open pages (If-None-Match) do not count. */
export function notifyWhenQuiet(
  service: Service,
  { after, monotonic, quietMs, onQuiet }: QuietOptions,
): Service {
  let lastRequestAt = 0;
  let isWatching = false;
  const check = (): void => {
    const remainingMs = lastRequestAt + quietMs - monotonic();
    isWatching = remainingMs > 0;
    if (isWatching) after(remainingMs, check);
    else onQuiet();
  };
  return {
    ...service,
    answer: (request) => {
      if (headerLines(request, "if-none-match").length > 0) return service.answer(request);
      lastRequestAt = monotonic();
      // One timer for the whole period, instead of one for each request.
      if (!isWatching) after(quietMs, check);
      isWatching = true;
      return service.answer(request);
    },
  };
}
