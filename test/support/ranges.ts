import ipaddr from "ipaddr.js";

/** The first and the last address of a range, and an address between them. */
export function edgesOf(range: string): readonly string[] {
  const [block, bits] = ipaddr.parseCIDR(range);
  const first = block.toByteArray();
  const last = first.map((byte, at) => byte | (0xff >> Math.min(8, Math.max(0, bits - at * 8))));
  const middle = first.map((byte, at) => byte | (0x55 & (0xff >> Math.min(8, Math.max(0, bits - at * 8)))));
  return [first, middle, last].map((bytes) => ipaddr.fromByteArray(bytes).toString());
}
