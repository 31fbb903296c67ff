import type { HttpRequest, HttpResponse } from "../../src/world.ts";
import { serve, type Receiver } from "./merchant-receivers.ts";
import { createOrderBooks, type HookEvent, type ShopPlan } from "./order-shops.ts";
import { takeVisits, type ReturnPage } from "./return-shops.ts";
import type { openWebhookSite } from "./webhook-site.ts";

/** The parts of a shop, each from the tables: its receiver, its books, and its return page. */
export type DrawnParts = { readonly receiver: Receiver; readonly plan: ShopPlan; readonly page: ReturnPage };

const SHOP = "http://localhost:3000";

/** Opens a shop on port 3000, and returns a function that replaces its parts. The shop keeps its books. */
export function openDrawnShop(
  site: Pick<Awaited<ReturnType<typeof openWebhookSite>>, "harness" | "statusOf">,
  secret: string,
): (parts: DrawnParts) => void {
  const { harness, statusOf } = site;
  const { clock } = harness;
  const books = createOrderBooks({ clock, statusOf });
  const visit = takeVisits({ ...books, clock, statusOf });
  let count = 0;

  return ({ receiver, plan, page }) => {
    const receive = serve(receiver, { secret: () => secret, now: clock.now, pass: clock.advance });
    const take = async (request: HttpRequest): Promise<HttpResponse> => {
      const answered = receive(request);
      const event = answered.status < 300 ? eventIn(request) : undefined;
      if (event === undefined) return answered;
      const status = await books.act(plan, event, (count += 1));
      return status < 300 ? answered : { ...answered, status };
    };
    const answer = (request: HttpRequest): Promise<HttpResponse> => {
      const { pathname } = new URL(request.target, SHOP);
      // A framework routes a final slash to the same receiver.
      if (pathname === "/hooks" || pathname === "/hooks/") return take(request);
      if (pathname === "/thanks") return visit(page, request);
      return books.show(plan, pathname.slice("/orders/".length));
    };
    harness.vacate(3000);
    harness.occupy(3000, { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) });
  };
}

/** The event of an order in a request; undefined for any other request. */
function eventIn({ body }: HttpRequest): HookEvent | undefined {
  try {
    const event = JSON.parse(Buffer.from(body).toString("utf8")) as Partial<HookEvent> | null;
    return event?.data?.order_id === undefined ? undefined : (event as HookEvent);
  } catch {
    return undefined;
  }
}
