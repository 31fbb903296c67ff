import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { parse } from "yaml";
import type { FullAnswer } from "./harness.ts";

const DOCUMENT = parse(readFileSync(join(import.meta.dirname, "../../fixtures/openapi-v1.yaml"), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
type Operation = { readonly responses?: Readonly<Record<string, unknown>> };

const ajv = new Ajv2020({ strict: false, allErrors: true });
formatsPlugin.default(ajv);
ajv.addSchema(DOCUMENT, "contract");

/** The part of the contract that a body breaks; empty if it breaks none. */
export function breaches(
  schema: "CheckoutResponse" | "ErrorResponse" | "CreateCheckout" | "Event",
  body: unknown,
): string {
  const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
  if (validate === undefined) throw new Error(`the contract has no ${schema}`);
  return validate(body) === true ? "" : ajv.errorsText(validate.errors);
}

/** Whether the contract lists a status for an operation. */
export function listsStatus(path: string, method: "get" | "post", status: number): boolean {
  return DOCUMENT.paths[path]?.[method]?.responses?.[String(status)] !== undefined;
}

/** The part of the contract that a v1 answer breaks: its envelope, its types, its headers. */
export function answerBreaches(answer: FullAnswer): string {
  const body = JSON.parse(String(answer.body)) as { readonly request_id?: string };
  const envelope = breaches(answer.status < 300 ? "CheckoutResponse" : "ErrorResponse", body);
  if (envelope !== "") return envelope;
  if (answer.headers["X-Request-Id"] !== body.request_id)
    return "X-Request-Id is not the request_id of the body";
  return answer.headers["Content-Type"]?.startsWith("application/json") === true
    ? ""
    : "Content-Type is not JSON";
}
