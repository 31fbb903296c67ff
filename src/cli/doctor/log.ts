import { join } from "node:path";
import { excerpt } from "../../core/text.ts";
import { okFinding, unknownFinding, warningFinding, type DoctorFinding } from "./check.ts";
import type { CheckSubjects } from "./check-subjects.ts";

/** The log file of a detached sandbox. */
const LOG_FILE = "sandbox.log";
/** Maximum number of errors in the finding, which has the newest ones. */
const MAX_SHOWN_ERRORS = 3;
/**
 * Matches the line of an internal failure, of a request that failed because of it, of a crash, or of a problem of the
 * command line, in both log formats.
 */
const ERROR_LINE = /"failure":|"status":5\d\d|^\S+ {2}5\d\d {2}|^\S+ {2}\S+ {2}\w*Error\b|^✗|"ok":false/;

/**
 * Matches the line of a request to which a fault was applied, in both log formats, because the user asked for that
 * answer; and of a delivery, whose status is the receiver's.
 */
const OTHER_LINE = /(?: {2}|, |":")fault [a-z_]+(?: {2}|")|"delivery":/;

/** Reports the last errors in the log of a detached sandbox. */
export function checkLog({ context: { world }, folder, trusted }: CheckSubjects): DoctorFinding {
  if (!trusted().ok) return unknownFinding("the state folder is not read");
  const path = join(folder, LOG_FILE);
  const facts = world.files.look(path);
  if (facts === undefined) return okFinding(`there is no ${LOG_FILE}`);
  if (facts.kind !== "file" || !facts.isOwn) return unknownFinding(`${path} was not created by checkout`);
  const lines = (world.files.read(path) ?? "").split("\n");
  const errors = lines.filter((line) => ERROR_LINE.test(line) && !OTHER_LINE.test(line));
  if (errors.length === 0) return okFinding(`no errors in ${LOG_FILE}`);
  const last = errors.slice(-MAX_SHOWN_ERRORS).map(excerpt).join("; ");
  return warningFinding(
    `${errors.length} errors in ${LOG_FILE}, the last: ${last}`,
    "checkout sandbox logs shows the whole log",
  );
}
