import type { Option } from "commander";
import type { SettingKind } from "../../core/config/setting-kinds.ts";
import { ALL_SETTINGS } from "../../core/config/settings.ts";
import type { OptionHelp } from "../../core/help/map.ts";
import type { ServeOptions } from "../../host/options.ts";
import { listOption, switchOption, toOptionParser, valueOption } from "../command.ts";
import {
  choiceParser,
  durationParser,
  parseDeliverySchedule,
  parseDuration,
  parseHost,
  parseRateLimit,
  wholeNumberParser,
} from "../parsers.ts";
import type { CommonOptions } from "../target/surroundings.ts";

export type StartOptions = CommonOptions &
  ServeOptions & {
    readonly ephemeral?: boolean;
    readonly config?: string;
    readonly detach?: boolean;
    readonly reuse?: boolean;
  };

export function folderOptions(): Option[] {
  return [
    ...optionsOfScope("process"),
    configOption(),
    switchOption("--ephemeral", "keep the state in memory only"),
    adoptOption(),
    ...servingOptions(),
  ];
}

/** Without this option, the events of a copied state are held (decision 71). */
export function adoptOption(): Option {
  return switchOption(
    "--adopt",
    "adopt a state folder that was copied or moved here, and deliver its events",
  );
}

export function configOption(): Option {
  return valueOption("--config <file>", {
    text: "configuration file",
    default: "checkout.config.json, here or in a parent folder",
  });
}

export function servingOptions(): Option[] {
  return [
    ...(["service", "reach", "delivery"] as const).flatMap(optionsOfScope),
    valueOption(
      "--log-format <format>",
      { text: "format of the request log: text or json", default: "text" },
      choiceParser(["text", "json"]),
    ),
    switchOption("--quiet", "do not print the request log"),
  ];
}

function optionsOfScope(wantedScope: (typeof ALL_SETTINGS)[number]["scope"]): Option[] {
  return ALL_SETTINGS.filter(({ scope }) => scope === wantedScope).map(({ flags, help, kind }) =>
    settingOption(kind, flags, help),
  );
}

function settingOption(kind: SettingKind, flags: string, help: OptionHelp): Option {
  switch (kind.kind) {
    case "integer":
      return valueOption(flags, help, wholeNumberParser(kind.minimum, kind.maximum));
    case "duration":
      return valueOption(flags, help, durationParser(kind.minimum, kind.maximum));
    case "timeout":
      return valueOption(flags, help, parseDuration);
    case "rate":
      return valueOption(flags, help, parseRateLimit);
    case "schedule":
      return valueOption(flags, help, parseDeliverySchedule);
    case "hosts":
      return listOption(flags, help, parseHost);
    case "text":
      return valueOption(flags, help, toOptionParser(kind.parse));
    case "texts":
      return listOption(flags, help, toOptionParser(kind.parse));
  }
}
