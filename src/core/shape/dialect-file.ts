/**
 * The names of another service, with the sandbox's own names as keys: the form of a dialect file, of the section
 * `dialect` in `checkout.config.json`, and of a store's row. A missing name is the sandbox's own (decision 148).
 */
export type Dialect = {
  /** Keys: error codes. Another status only for codes whose status the interface does not state. */
  readonly errors?:
    | Readonly<Record<string, { readonly code?: string | undefined; readonly status?: number | undefined }>>
    | undefined;
  /** Keys: event types. */
  readonly events?: Readonly<Record<string, string>> | undefined;
  /** Keys: fields of an event's body. Null: the body does not have the field. */
  readonly event_fields?: Readonly<Record<string, string | null>> | undefined;
  /** The form of `created_at` in the body. */
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
  /** The form of a create that counts if both are sent. */
  readonly both_forms?: "refuse" | "price_id" | "amount" | undefined;
};
