/** A refusal of the sandbox. */
export class CheckoutError extends Error {
  override readonly name = "CheckoutError";
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /**
   * A code of the service's closed list; `connection_lost` where there was no answer, `bad_answer` where it was none of
   * the service's: both come of faults.
   */
  readonly code: string;
  /** The request's id, under which the log has it; empty where there was no answer, or nothing was asked. */
  readonly requestId: string;

  constructor(
    refusal: {
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly requestId: string;
    },
    options?: ErrorOptions,
  ) {
    super(refusal.message, options);
    this.status = refusal.status;
    this.code = refusal.code;
    this.requestId = refusal.requestId;
  }
}

/** Passes over that something is not there; throws any other error. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof CheckoutError) || error.code !== "not_found") throw error;
}

/** Why a sandbox did not start: an option that cannot be, or a state that cannot be used. */
export class StartError extends Error {
  override readonly name = "StartError";
  /** `usage`, `config_invalid`, or what is wrong with the state. */
  readonly code: string;

  constructor({
    code,
    message,
    next,
  }: {
    readonly code: string;
    readonly message: string;
    readonly next: string;
  }) {
    super(`${message}; ${next}`);
    this.code = code;
  }
}

/** Nothing that matched came in time; the message lists what came. */
export class WaitError extends Error {
  override readonly name = "WaitError";
}
