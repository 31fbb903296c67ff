import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "@babel/parser";
import type { Node, Statement } from "@babel/types";

/** `fields`: the comments of the nested fields, by name. */
export type FieldComments = {
  readonly comment: string | undefined;
  readonly fields: ReadonlyMap<string, FieldComments>;
};

const NO_COMMENTS: FieldComments = { comment: undefined, fields: new Map() };

/**
 * Finds the comments above the fields of a schema, also in constants and files that the schema is built from. A later
 * comment on a field replaces an earlier one.
 */
export function commentsOf(file: string, constant: string): FieldComments {
  for (const statement of statementsOf(file)) {
    if (statement.type === "ImportDeclaration" && statement.source.value.startsWith(".")) {
      for (const specifier of statement.specifiers) {
        if (specifier.local.name !== constant || specifier.type !== "ImportSpecifier") continue;
        const name =
          specifier.imported.type === "Identifier" ? specifier.imported.name : specifier.imported.value;
        return commentsOf(join(dirname(file), statement.source.value), name);
      }
    }
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration?.type !== "VariableDeclaration") continue;
    for (const { id, init } of declaration.declarations)
      if (id.type === "Identifier" && id.name === constant && init) return commentsIn(file, init);
  }
  return NO_COMMENTS;
}

function commentsIn(file: string, node: Node): FieldComments {
  const inner = (part: Node): FieldComments => commentsIn(file, part);
  if (node.type === "Identifier") return commentsOf(file, node.name);
  if (node.type === "SpreadElement") return inner(node.argument);
  if (node.type === "ObjectExpression") return merge(node.properties.map(inner));
  if (node.type === "CallExpression") return merge([node.callee, ...node.arguments].map(inner));
  if (node.type === "MemberExpression" && node.property.type === "Identifier") {
    const object = inner(node.object);
    // A member such as `shape` is not a field: its fields are the fields of the schema.
    return object.fields.get(node.property.name) ?? object;
  }
  if (node.type === "ObjectProperty" && node.key.type === "Identifier") {
    const { comment, fields } = inner(node.value);
    const ownComment = node.leadingComments?.findLast(({ value }) => value.startsWith("*"))?.value;
    return {
      comment: undefined,
      fields: new Map([[node.key.name, { comment: ownComment ?? comment, fields }]]),
    };
  }
  return NO_COMMENTS;
}

function merge(parts: readonly FieldComments[]): FieldComments {
  const fields = new Map<string, FieldComments>();
  for (const part of parts) {
    for (const [name, comments] of part.fields) {
      const previous = fields.get(name) ?? NO_COMMENTS;
      fields.set(name, { ...merge([previous, comments]), comment: comments.comment ?? previous.comment });
    }
  }
  return { comment: undefined, fields };
}

const parsedFiles = new Map<string, readonly Statement[]>();

function statementsOf(file: string): readonly Statement[] {
  const knownBody = parsedFiles.get(file);
  if (knownBody !== undefined) return knownBody;
  const { body } = parse(readFileSync(file, "utf8"), {
    sourceType: "module",
    plugins: ["typescript"],
  }).program;
  parsedFiles.set(file, body);
  return body;
}
