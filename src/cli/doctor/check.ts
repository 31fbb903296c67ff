import type { CheckSubjects } from "./check-subjects.ts";

/** The result of a check. `warning`: it works but may surprise. `problem`: it does not work. */
export type FindingStatus = "ok" | "warning" | "problem" | "unknown";

/** A finding of a check, and the remedy; null if no action is needed. */
export type DoctorFinding = {
  readonly status: FindingStatus;
  readonly found: string;
  readonly next: string | null;
};

/** A check and its name. A check changes nothing, and sends requests only to this machine. */
export type DoctorCheck = {
  readonly name: string;
  readonly run: (subjects: CheckSubjects) => DoctorFinding | Promise<DoctorFinding>;
};

/** A finding that needs no action. */
export function okFinding(found: string): DoctorFinding {
  return { status: "ok", found, next: null };
}

/** A finding about something that works but may surprise, with its remedy. */
export function warningFinding(found: string, next: string): DoctorFinding {
  return { status: "warning", found, next };
}

/** A finding about something that does not work, with its remedy. */
export function problemFinding(found: string, next: string): DoctorFinding {
  return { status: "problem", found, next };
}

/** A finding for a state that could not be determined, with the reason. */
export function unknownFinding(found: string, next: string | null = null): DoctorFinding {
  return { status: "unknown", found, next };
}
