import { DELIVERY_STATES } from "../../core/webhook/delivery.ts";
import type { Connection } from "../connection/connection.ts";
import type { Delivery } from "./deliveries.ts";

type FailedDeliveryFilter = Pick<Delivery, "endpointId"> & { readonly since: number; readonly limit: number };

export type EndpointHealth = ReturnType<ReturnType<typeof deliveryHealth>["health"]>;

const MAX_FAILED_EXAMINED = 10_000;
const MAX_HEALTH_EXAMINED = 100;
type AnswerCounts = Readonly<
  Record<"taken" | "redirected" | "refused" | "broken" | "unanswered", number | null>
>;

type HealthQuery = Pick<Delivery, "endpointId" | "state"> & {
  readonly since: number;
  readonly maxRows: number;
};

export function deliveryHealth(connection: Connection) {
  const { selectAnswers, selectAnswersOfDue, selectNextDue, countDueUpTo, selectFailed } =
    prepare(connection);

  return {
    /** Newest first; searches the newest 10,000 failed deliveries. */
    failedEventIds: (filter: FailedDeliveryFilter): string[] =>
      selectFailed.all({ ...filter, maxRows: MAX_FAILED_EXAMINED }),

    /**
     * Counts answers to the newest 100 deliveries of each state; of due deliveries, only those with an attempt. `due`
     * is at most 100.
     */
    health: (endpointId: string, since: number) => {
      const bindings = { endpointId, since, maxRows: MAX_HEALTH_EXAMINED };
      const answers = DELIVERY_STATES.flatMap((state) =>
        state === "due"
          ? (selectAnswersOfDue.get(bindings) ?? [])
          : (selectAnswers.get({ ...bindings, state }) ?? []),
      );
      const sum = (countOf: (answer: AnswerCounts) => number | null): number =>
        answers.reduce((total, answer) => total + (countOf(answer) ?? 0), 0);
      return {
        taken: sum((answer) => answer.taken),
        redirected: sum((answer) => answer.redirected),
        refused: sum((answer) => answer.refused),
        broken: sum((answer) => answer.broken),
        unanswered: sum((answer) => answer.unanswered),
        nextAt: selectNextDue.get({ endpointId }) ?? null,
        due: countDueUpTo.get({ endpointId, limit: MAX_HEALTH_EXAMINED }) ?? 0,
      };
    },
  };
}

const ANSWER_SUMS = `sum(status BETWEEN 200 AND 299) AS taken, sum(status BETWEEN 300 AND 399) AS redirected,
  sum(status BETWEEN 400 AND 499) AS refused, sum(status NOT BETWEEN 200 AND 499) AS broken,
  sum(error IS NOT NULL) AS unanswered`;

function prepare(connection: Connection) {
  return {
    selectAnswers: connection.prepare<HealthQuery, AnswerCounts>(
      `SELECT ${ANSWER_SUMS}
       FROM (SELECT id AS newest FROM deliveries INDEXED BY deliveries_of_endpoint
             WHERE endpoint_id = @endpointId AND state = @state ORDER BY rowid DESC LIMIT @maxRows)
       JOIN delivery_attempts ON delivery_id = newest WHERE started_at >= @since`,
    ),
    selectAnswersOfDue: connection.prepare<Omit<HealthQuery, "state">, AnswerCounts>(
      `SELECT ${ANSWER_SUMS}
       FROM (SELECT id AS newest FROM deliveries AS tried INDEXED BY tried_deliveries
             WHERE endpoint_id = @endpointId AND state = 'due' AND tries > 0 ORDER BY rowid DESC LIMIT @maxRows)
       JOIN delivery_attempts ON delivery_id = newest WHERE started_at >= @since`,
    ),
    selectNextDue: connection
      .prepare<Pick<Delivery, "endpointId">, number>(
        `SELECT min(next_at) FROM deliveries INDEXED BY due_deliveries
         WHERE endpoint_id = @endpointId AND state = 'due' AND is_behind = 0`,
      )
      .pluck(),
    countDueUpTo: connection
      .prepare<Pick<Delivery, "endpointId"> & { readonly limit: number }, number>(
        `SELECT count(*) FROM (SELECT 1 FROM deliveries AS queued INDEXED BY due_deliveries
           WHERE endpoint_id = @endpointId AND state = 'due' LIMIT @limit)`,
      )
      .pluck(),
    // Skips a failed delivery if its event was queued again later.
    selectFailed: connection
      .prepare<FailedDeliveryFilter & { readonly maxRows: number }, string>(
        `SELECT failed_event FROM (
           SELECT rowid AS place, event_id AS failed_event, created_at AS failed_from
           FROM deliveries INDEXED BY deliveries_of_endpoint
           WHERE endpoint_id = @endpointId AND state = 'failed' ORDER BY rowid DESC LIMIT @maxRows)
         WHERE failed_from >= @since AND NOT EXISTS (
           SELECT 1 FROM deliveries AS later INDEXED BY deliveries_of_event
           WHERE later.event_id = failed_event AND later.endpoint_id = @endpointId AND later.in_order IN (0, 1)
             AND later.rowid > place)
         LIMIT @limit`,
      )
      .pluck(),
  };
}
