import { snakeCase } from "../../core/text.ts";
import { register, type Group } from "../command.ts";
import { EXIT } from "../problem.ts";
import { requireControlTarget } from "../target/control.ts";
import { runInit } from "./init.ts";
import { shopOptions, type ShopOptions } from "./options.ts";
import { describeShop } from "./section.ts";
import { trialLine, tryShop } from "./trials.ts";
import { output } from "../output/output.ts";

export function registerShop(group: Group): void {
  register<ShopOptions>(group, {
    name: "init",
    summary:
      "prompt for a description of your shop, test each answer, and write the description to checkout.config.json",
    exitCodes: { 0: "written", 1: "nothing was written" },
    examples: ["checkout shop init"],
    run: (context) => runInit(context),
  });
  register<ShopOptions>(group, {
    name: "check",
    summary:
      "test the shop section of checkout.config.json: create an order, read its view, and open the return page",
    exitCodes: { 0: "everything works", 1: "something does not work" },
    examples: ["checkout shop check", "checkout shop check --trust-config --json"],
    options: shopOptions(),
    run: async (context, options) => {
      const description = await describeShop(context, options);
      const trials = await tryShop(context, await requireControlTarget(context), {
        description,
        readsOrders: true,
      });
      const isOk = trials.every(({ ok }) => ok);
      const rows = trials.map(({ field, ok, text }) => ({ field: snakeCase(field), ok, text }));
      await context.printer.result(output("shop_trials", { ok: isOk, trials: rows }), () =>
        trials.map((trial) => trialLine(trial, context.printer.style)).join("\n"),
      );
      return isOk ? EXIT.done : EXIT.failed;
    },
  });
}
