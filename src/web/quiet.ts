import type { Service, World } from "../world.ts";
import { headerLines } from "./http.ts";

/** Calls `onQuiet` once after each period with requests. Requests with If-None-Match do not count, because open pages poll. */
export function watchForQuiet(
  service: Service,
  {
    after,
    monotonic,
    quietMs,
    onQuiet,
  }: Pick<World, "after" | "monotonic"> & { readonly quietMs: number; readonly onQuiet: () => void },
): Service {
  let lastAt = 0;
  let isWatching = false;
  const check = (): void => {
    const remainingMs = lastAt + quietMs - monotonic();
    isWatching = remainingMs > 0;
    if (isWatching) after(remainingMs, check);
    else onQuiet();
  };
  return {
    ...service,
    answer: (request) => {
      if (headerLines(request, "if-none-match").length > 0) return service.answer(request);
      lastAt = monotonic();
      // One timer for the whole period, instead of one for each request.
      if (!isWatching) after(quietMs, check);
      isWatching = true;
      return service.answer(request);
    },
  };
}
