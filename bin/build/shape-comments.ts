import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "@babel/parser";
import type { Node, Statement } from "@babel/types";

/** The comment above a field, and the comments of the fields below it. */
export type Commented = {
  readonly comment: string | undefined;
  readonly below: ReadonlyMap<string, Commented>;
};

const NONE: Commented = { comment: undefined, below: new Map() };

/**
 * The comments above the fields of a shape: a constant of a file, and the constants that it is built from, including
 * constants of other files. A later comment on a field replaces an earlier comment.
 */
export function commentsOf(file: string, constant: string): Commented {
  for (const statement of statementsOf(file)) {
    if (statement.type === "ImportDeclaration" && statement.source.value.startsWith(".")) {
      for (const one of statement.specifiers) {
        if (one.local.name !== constant || one.type !== "ImportSpecifier") continue;
        const name = one.imported.type === "Identifier" ? one.imported.name : one.imported.value;
        return commentsOf(join(dirname(file), statement.source.value), name);
      }
    }
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declared?.type !== "VariableDeclaration") continue;
    for (const { id, init } of declared.declarations)
      if (id.type === "Identifier" && id.name === constant && init) return commentsIn(file, init);
  }
  return NONE;
}

function commentsIn(file: string, node: Node): Commented {
  const inner = (one: Node): Commented => commentsIn(file, one);
  if (node.type === "Identifier") return commentsOf(file, node.name);
  if (node.type === "SpreadElement") return inner(node.argument);
  if (node.type === "ObjectExpression") return merge(node.properties.map(inner));
  if (node.type === "CallExpression") return merge([node.callee, ...node.arguments].map(inner));
  if (node.type === "MemberExpression" && node.property.type === "Identifier") {
    const object = inner(node.object);
    // Parts of a schema, such as `shape`, are no fields: their fields are those of the schema.
    return object.below.get(node.property.name) ?? object;
  }
  if (node.type === "ObjectProperty" && node.key.type === "Identifier") {
    const { comment, below } = inner(node.value);
    const above = node.leadingComments?.findLast(({ value }) => value.startsWith("*"))?.value;
    return { comment: undefined, below: new Map([[node.key.name, { comment: above ?? comment, below }]]) };
  }
  return NONE;
}

function merge(all: readonly Commented[]): Commented {
  const below = new Map<string, Commented>();
  for (const one of all) {
    for (const [name, found] of one.below) {
      const earlier = below.get(name) ?? NONE;
      below.set(name, { ...merge([earlier, found]), comment: found.comment ?? earlier.comment });
    }
  }
  return { comment: undefined, below };
}

const parsed = new Map<string, readonly Statement[]>();

function statementsOf(file: string): readonly Statement[] {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const { body } = parse(readFileSync(file, "utf8"), {
    sourceType: "module",
    plugins: ["typescript"],
  }).program;
  parsed.set(file, body);
  return body;
}
