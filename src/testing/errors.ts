/** Thrown if a call is invalid, if the sandbox refuses it, or if there is no answer. */
export class CheckoutError extends Error {
  override readonly name = "CheckoutError";
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /**
   * The error code of the service; `connection_lost` if there was no answer, `bad_answer` if the answer was invalid.
   * Faults can cause both.
   */
  readonly code: string;
  /** The request id, by which `store.requests` finds a create. Empty if no request was sent or answered. */
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

export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof CheckoutError) || error.code !== "not_found") throw error;
}

/** Thrown if the sandbox does not start, for example because an option is wrong or its state cannot be used. */
export class StartError extends Error {
  override readonly name = "StartError";
  /** The code of the problem, such as `usage`, `config_invalid` or `fake_timers`. */
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

/** Thrown if no matching item arrives before the timeout or before the sandbox is closed. */
export class WaitError extends Error {
  override readonly name = "WaitError";
}
