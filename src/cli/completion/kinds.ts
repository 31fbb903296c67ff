import type { Option } from "commander";

export type Completion = { readonly value: string; readonly description: string };

export type ValueKind = "checkout" | "orderId" | "endpoint" | "fault" | "store" | "snapshot";

const ARGUMENT_KINDS: ReadonlyMap<string, ValueKind> = new Map([
  ...["sandbox pay", "orders get", "sessions get", "explain", "open"].map(
    (words) => [words, "checkout"] as const,
  ),
  ...["remove", "enable", "disable", "pause", "test", "secret", "rotate-secret"].map(
    (verb) => [`endpoints ${verb}`, "endpoint"] as const,
  ),
  ["faults remove", "fault"],
  ...["stores use", "stores show", "stores delete"].map((words) => [words, "store"] as const),
  ...["snapshots restore", "snapshots remove"].map((words) => [words, "snapshot"] as const),
]);

const OPTION_KINDS: ReadonlyMap<string, ValueKind> = new Map([
  ["order-id", "orderId"],
  ["checkout", "checkout"],
  ["endpoint", "endpoint"],
  ["store", "store"],
]);

export function kindOfArgument(words: string): ValueKind | undefined {
  return ARGUMENT_KINDS.get(words);
}

export function kindOfOption(option: Option): ValueKind | undefined {
  return OPTION_KINDS.get(option.name());
}
