import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import type { Style } from "../printer.ts";

/** A cause of a failed verification, as a line below what failed. */
export function causeLine({ code, message, proven }: Diagnosis, style: Style): string {
  return `  ${style.cyan("→")} ${proven ? "" : "Perhaps: "}${message} ${style.dim(`(${code})`)}`;
}
