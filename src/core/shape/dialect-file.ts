/** The keys are the sandbox's own names. A missing name is the sandbox's own (decision 148). */
export type Dialect = {
  /** Keys: error codes. Another status only for codes whose status the interface does not state. */
  readonly errors?:
    | Readonly<Record<string, { readonly code?: string | undefined; readonly status?: number | undefined }>>
    | undefined;
  /** Keys: event types. */
  readonly events?: Readonly<Record<string, string>> | undefined;
  /** Keys: fields of an event's body. Null: the body does not have the field. */
  readonly event_fields?: Readonly<Record<string, string | null>> | undefined;
  readonly times?: "iso" | "seconds" | "milliseconds" | undefined;
  readonly headers?:
    | Readonly<Partial<Record<"event_id" | "timestamp" | "signature", string | undefined>>>
    | undefined;
  /** How the header of the signature writes each hex digest. */
  readonly signature_form?: "hex" | "sha256=hex" | "v1=hex" | "t=timestamp,v1=hex" | undefined;
  /** The answer to a repeated create; null: no header marks a replay. */
  readonly replay?:
    | { readonly status?: 200 | 201 | undefined; readonly header?: string | null | undefined }
    | undefined;
  readonly unknown_session?: 400 | 403 | 404 | undefined;
  readonly both_forms?: "refuse" | "price_id" | "amount" | undefined;
};
