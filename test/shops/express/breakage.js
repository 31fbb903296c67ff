/** Whether the shop is to have a certain mistake; BREAKAGE names it. */
export function has(breakage) {
  return process.env.BREAKAGE === breakage;
}
