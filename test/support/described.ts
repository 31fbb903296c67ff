import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { CONTROL_OPERATIONS, type OperationName } from "../../src/core/control/operations.ts";

/** The parts of the control API's description that tests read. */
export type ControlDocument = {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
};
type DescribedOperation = {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
};

/** Returns a function that names the part of the description that a body breaks; empty if it breaks none. */
export function describedBy(document: ControlDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formatsPlugin.default(ajv);
  ajv.addSchema(document, "control");
  const pointer = (parts: readonly string[]): string =>
    parts.map((part) => `/${encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
  return (name: OperationName, part: "request" | number, body: unknown): string => {
    const { path, method } = CONTROL_OPERATIONS[name];
    const operation = ["paths", path, method.toLowerCase()];
    const where = part === "request" ? ["requestBody"] : ["responses", String(part)];
    const response = document.paths[path]?.[method.toLowerCase()]?.responses[part];
    const at = response?.$ref ?? `#${pointer([...operation, ...where])}`;
    const validate = ajv.getSchema(`control${at}${pointer(["content", "application/json", "schema"])}`);
    if (validate === undefined) return `${name} has no ${part}`;
    return validate(body) === true ? "" : `${name} ${part}: ${ajv.errorsText(validate.errors)}`;
  };
}
