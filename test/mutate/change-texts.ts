import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vitest/node";

/** Store files hold SQL, and the topics of help the headings of pages. */
const WITHOUT_TEXTS = ["store/**", "cli/help/topics.ts"];
/** Code in a text: SQL, a style sheet, a script, a regular expression. */
const CODE =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|FROM|VALUES|PRAGMA|typeof)\b|[{}];|\\[bdswp]|\(\?|=>|<\w|\bprocess\./;
/** A place at which English allows one word more. */
const PLACE =
  /(?<=^|[ (])(?:the|an?|is|are|was|were|has|have|not|no|of|to|and|or|in|for|with|by|at|on|its?|this|that|from|as|must|cannot|only|after|before|without) (?=[a-z]|$)(?!checkout\b)/;

type Node = { readonly type: string; readonly start: number; readonly end: number };

/** Adds a word to each English text of a copy of the program; returns the number of changed texts. */
export function changeTexts(root: string): number {
  let count = 0;
  for (const name of globSync("**/*.ts", { cwd: join(root, "src"), exclude: WITHOUT_TEXTS })) {
    const path = join(root, "src", name);
    const code = readFileSync(path, "utf8");
    const edits = textsIn(parseAst(code, { lang: "ts" })).flatMap(({ start, end }) => {
      const text = code.slice(start, end);
      const changed = CODE.test(text) ? text : text.replace(PLACE, "$&really ");
      return changed === text ? [] : [{ start, end, changed }];
    });
    count += edits.length;
    writeFileSync(
      path,
      edits
        .toSorted((left, right) => right.start - left.start)
        .reduce((rest, { start, end, changed }) => rest.slice(0, start) + changed + rest.slice(end), code),
    );
  }
  return count;
}

/** The literals that are no type, import, key or case, and are compared with nothing. */
function textsIn(node: Node, parent?: Node): readonly Node[] {
  if (/^(?:Import|ExportAll|TS\w*Type$|TSEnum)/.test(node.type)) return [];
  if (node.type === "TemplateElement") return [node];
  if (node.type === "Literal") {
    const isKey = parent?.type === "Property" && "key" in parent && parent.key === node;
    const isCompared = parent?.type === "BinaryExpression" || parent?.type === "SwitchCase";
    return isKey || isCompared || !("value" in node) || typeof node.value !== "string" ? [] : [node];
  }
  const parts: readonly unknown[] = Object.values(node);
  return parts
    .flat()
    .filter(isNode)
    .flatMap((child) => textsIn(child, node));
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
