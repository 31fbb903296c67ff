import htmx from "htmx.org/dist/htmx.min.js?raw";
import { accept } from "../../../core/outcome.ts";
import { createAsset, type Asset } from "../../../web/asset.ts";
import type { AreaRoute } from "../../area.ts";
import sendBack from "../payment/send-back.js?raw";
import style from "./style.css?raw";

export const BASE_STYLE = createAsset("/assets/checkout.css", "text/css", style);
export const HTMX_SCRIPT = createAsset("/assets/htmx.js", "text/javascript", htmx);
export const SEND_BACK_SCRIPT = createAsset("/assets/send-back.js", "text/javascript", sendBack);

export function assetRoute(file: Asset): AreaRoute<unknown, unknown> {
  return {
    methods: ["GET"],
    path: file.path,
    role: "anyone",
    answer: (_context, { query }) => accept({ ...file.answer(query), isUnlogged: true }),
  };
}
