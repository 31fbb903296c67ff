/** Whether the shop has this mistake, which the variable BREAKAGE then names. */
export function has(breakage) {
  return process.env.BREAKAGE === breakage;
}
