/** The likely cause of a failed or unclear step. The list is closed. */
export const DUPLICATES_CAUSES = {
  books_again:
    "The view of the order changed although the event had come before: it most likely books each delivery. Events may come twice: keep the event_id of each event that you have acted on, in the same transaction as the act, and answer 2xx for a known one without acting again. (If the view counts deliveries or shows when it was last written, let it show the order alone.)",
  books_at_once:
    "Two deliveries of one payment came at the same moment, and the view shows twice as much as for an order whose payment came once: it most likely looks whether it knows the event, and writes it later. Let the database decide: insert the event_id into a column with a unique index, in the same transaction as the booking, and do nothing where the insert fails.",
  forgets_last_events:
    "The payment was booked again after eleven other events had come, more than half a minute after it was first booked: it most likely remembers only the last few events, or each for a short time. Keep the event_id of every event, for at least as long as events are sent again (120 hours).",
  forgets_in_time:
    "The payment was booked again when it came after more than 30 s: its memory of events most likely ends, as that of a cache does. Keep the event_id of every event in the database, for at least as long as events are sent again (120 hours).",
  forgets_at_restart:
    "What the shop knew was gone after its restart: the order was no longer paid, or its payment was booked again when it came again. It most likely keeps orders or the ids of events in the memory of its process. Keep the event_id of every event in the database, in the same transaction as the booking.",
  books_failed:
    "The order is paid although its payment failed: it most likely takes each event that ends a payment for a success. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
  books_expired:
    "The order is paid although it expired: it most likely books whatever ends an order. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
  books_cancelled:
    "The order is paid although its payer cancelled: it most likely books whatever ends an order. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
  books_pending:
    "The order is paid although the only attempt was declined and the status is pending: it most likely books the start of a payment. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
  lost_second_payment:
    "Another order was paid before, and this one, paid after a declined attempt, is not, although its event was answered 2xx: it most likely knows events by something that two of them share (their type, second or amount), or takes a declined attempt for the end. Know an event by its event_id alone.",
  lost_at_once:
    "It answered 2xx to the event of a payment that came at the same moment as that of another order, and did nothing until the event came again: it most likely drops what comes while it is busy, or reads all orders and writes them all back, over what another event has written meanwhile. Change one order in one transaction, and answer 5xx to an event that is not acted on.",
  forgets_payment:
    "The order is no longer paid after an older event came late: it most likely writes whatever the last event says. Never go back from a final status: compare the sequence of events, or ask GET /v1/checkout-sessions/{id}.",
  undoes_booking:
    "The order is still paid, and what its payment had added to the view is gone after an older event came late: it most likely writes the order anew when the event of its creation comes. Insert an order only where there is none, and never go back.",
  lost_early_payment:
    "It answered 2xx to the event of the payment, which came before that of the order's creation, and did nothing; then nobody sends it again. Act on an event whatever came before it, keep it for later, or answer 5xx so that it comes again.",
  refuses_duplicate:
    "It does not answer 2xx to an event that it has had, so the event would be sent again and again, and hold back those after it. Answer 2xx for what is known already.",
  refuses_late:
    "It does not answer 2xx to an event that comes late, so the event would be sent again and again, and hold back those after it. Answer 2xx, and leave the order as it is.",
  paid_from_the_start:
    "The view says paid before anybody has paid: --paid-when also matches an unpaid order (does paid match unpaid?), the view shows another order, or your shop books the creation of an order.",
  order_unknown:
    "The view answers 404 for an order that the drill has made: your shop does not know orders that it has not created. Let your shop create them: --create CMD, or name unpaid ones of your shop: --checkout ID, up to ten times. (Or --order-view does not show the order of {order_id} or {session_id}.)",
  own_order_unknown:
    "The view answers 404 for an order that your shop has made: --order-view does not show the order of {order_id} or {session_id}.",
  never_paid:
    "The order was paid and the view does not say so, so its answers prove nothing. The events were not accepted (see what was answered; checkout checklist run webhooks tells why), --paid-when does not match, your shop acts on events of the other kind alone (then let the endpoint have no others: --events order.*), or it does not know orders that it has not created: name some of its own with --checkout, or let it make them with --create.",
  books_unverified:
    "The order is paid after a badly signed event, although the payment never happened: it acts on an event before, or without, verifying it. Verify first, and do nothing with an event that is not right.",
  paid_in_the_end:
    "The view says paid of an order that nobody has paid, after another one was paid: it shows another order, or the shop has acted on a badly signed event after a while.",
  view_of_service:
    "The view said paid before any event was delivered: it asks the service, not your shop, so it cannot show what your shop does with events. Show what your shop has stored.",
  view_unreadable:
    "The view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0.",
  view_limited:
    "The view answered 429 again and again: a rate limit of yours keeps the drill from reading it. Raise the limit for this machine.",
  view_restless:
    "The view changes by itself, so a second booking cannot be told. Let it show the order alone, with its bookings.",
  out_of_reach: "The endpoint could not be reached, so it is not known what your shop does.",
  no_endpoint:
    "No enabled endpoint gets the event of the payment: see --events of checkout endpoints list, and add the types of orders and sessions.",
} as const;

/** A cause of the closed list. */
export type DuplicatesCause = keyof typeof DUPLICATES_CAUSES;

/** Failures of the merchant; all other causes leave open what the shop does. */
export const DUPLICATES_FAILURES: ReadonlySet<DuplicatesCause> = new Set([
  "books_again",
  "books_at_once",
  "forgets_last_events",
  "forgets_in_time",
  "forgets_at_restart",
  "books_failed",
  "books_expired",
  "books_cancelled",
  "books_pending",
  "lost_second_payment",
  "lost_at_once",
  "forgets_payment",
  "undoes_booking",
  "lost_early_payment",
  "refuses_duplicate",
  "refuses_late",
  "books_unverified",
]);
