/** Maps the sandbox's names to the names of another service (decision 148). A missing name is unchanged. */
export type Dialect = {
  /** By error code. `status` is only for codes whose status the interface does not state. */
  readonly errors?:
    | Readonly<Record<string, { readonly code?: string | undefined; readonly status?: number | undefined }>>
    | undefined;
  /** By event type. */
  readonly events?: Readonly<Record<string, string>> | undefined;
  /** By field of an event's body. Null: the service does not send the field. */
  readonly event_fields?: Readonly<Record<string, string | null>> | undefined;
  readonly times?: "iso" | "seconds" | "milliseconds" | undefined;
  readonly headers?:
    | Readonly<Partial<Record<"event_id" | "timestamp" | "signature", string | undefined>>>
    | undefined;
  /** The form of each signature in its header. */
  readonly signature_form?: "hex" | "sha256=hex" | "v1=hex" | "t=timestamp,v1=hex" | undefined;
  /** The answer to a repeated create. `header` is null if no header marks a replay. */
  readonly replay?:
    | { readonly status?: 200 | 201 | undefined; readonly header?: string | null | undefined }
    | undefined;
  readonly unknown_session?: 400 | 403 | 404 | undefined;
  readonly both_forms?: "refuse" | "price_id" | "amount" | undefined;
};
