/** Matches a text that contains these values in this order, whatever the words between them are. */
export function valuesIn(...values: readonly (string | number)[]): RegExp {
  const literals = values.map((value) => String(value).replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(literals.join("[^]*?"));
}
