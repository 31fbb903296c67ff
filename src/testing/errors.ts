/** Thrown if the sandbox refused a call, or did not answer it. */
export class CheckoutError extends Error {
  override readonly name = "CheckoutError";
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /**
   * An error code of the service. `connection_lost` if there was no answer, and `bad_answer` if the answer was not
   * valid; faults can cause both.
   */
  readonly code: string;
  /** The id of the request; for a create, `store.requests` has it. Empty if no request was sent or answered. */
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

/** Throws any other error. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof CheckoutError) || error.code !== "not_found") throw error;
}

/** Thrown if the sandbox did not start, for example because an option is wrong or its state cannot be used. */
export class StartError extends Error {
  override readonly name = "StartError";
  /** `usage`, `config_invalid`, or the code of another problem, such as a problem with the state. */
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

/** Thrown if no matching item arrived in time, with a list of the newest items, or before the sandbox was closed. */
export class WaitError extends Error {
  override readonly name = "WaitError";
}
