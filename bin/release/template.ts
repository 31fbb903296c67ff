/** `{{version}}`, or with an argument `{{url linux-x64.xz}}`. */
const FIELD = /\{\{(\w+)(?: ([\w.-]+))?\}\}/g;

/** Undefined if a field has no value. */
export function fillFields(
  text: string,
  valueOf: (field: string, argument: string) => string | undefined,
): string | undefined {
  let isComplete = true;
  const filledText = text.replaceAll(FIELD, (_, field: string, argument = "") => {
    const value = valueOf(field, String(argument));
    isComplete &&= value !== undefined;
    return value ?? "";
  });
  return isComplete ? filledText : undefined;
}
