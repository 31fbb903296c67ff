import {
  createScanner,
  findNodeAtLocation,
  getNodePath,
  getNodeValue,
  parseTree,
  type Node,
  type ParseError,
  type ParseErrorCode,
} from "jsonc-parser";
import { closestMatch } from "leven";
import * as z from "zod/mini";
import { snakeCase, SECRET_KINDS, containsSecret, printableLiteral } from "../text.ts";
import { wireSchema } from "../shape/wire-names.ts";
import { accept, type Outcome } from "../outcome.ts";
import { conflictsIn, targetFaultsIn } from "./conflicts.ts";
import { faultOfField, fieldPathText, type FieldFault, type FieldPath } from "./field.ts";
import { configFile, MAX_FILE_LENGTH, type ConfigFile } from "./schema.ts";

export type ConfigFault = {
  readonly field: string;
  /** Begins with the field, unless the fault concerns the whole file. */
  readonly message: string;
  readonly why?: string | undefined;
  readonly line: number;
  readonly column: number;
};

export type ParsedConfig = {
  readonly config: ConfigFile;
  readonly locate: (fault: FieldFault) => ConfigFault;
};

const MAX_DEPTH = 16;
const MAX_TYPING_ERRORS = 3;

/**
 * Parses JSON with comments (decision 83). Refuses with the faults of the first failed check; no fault contains a
 * secret.
 */
export function parseConfig(text: string): Outcome<ParsedConfig, readonly ConfigFault[]> {
  const source = text.startsWith("\ufeff") ? ` ${text.slice(1)}` : text;
  const sizeFault = limitFault(source);
  if (sizeFault !== undefined) return refuseWith([sizeFault]);
  const errors: ParseError[] = [];
  const tree = parseTree(source, errors, { allowTrailingComma: false });
  const [error] = errors;
  if (tree === undefined || error !== undefined) {
    const { error: code, offset } = error ?? { error: 4, offset: 0 };
    const fault = faultOfField([], SYNTAX_TEXTS[code] ?? "this is not JSON");
    return refuseWith([faultAt(source, offset, fault)]);
  }
  const locate = (fault: FieldFault): ConfigFault => faultAt(source, nodeOf(tree, fault).offset, fault);
  const secretFaults = nodesOf(tree)
    .filter(({ type, value }) => type === "string" && containsSecret(String(value)))
    .map((node) => faultAt(source, node.offset, faultOfField(redactedPath(node), SECRET_IN_FILE)));
  if (secretFaults.length > 0) return refuseWith(secretFaults);
  const duplicateFaults = findDuplicateKeys(tree).map((node) => {
    const reason = `${printableLiteral(node.value)} appears twice in this object`;
    return faultAt(source, node.offset, faultOfField(getNodePath(node), reason));
  });
  if (duplicateFaults.length > 0) return refuseWith(duplicateFaults);
  const result = wireSchema(configFile).safeParse(getNodeValue(tree));
  if (!result.success)
    return refuseWith(result.error.issues.flatMap((issue) => faultsOf(issue, tree)).map(locate));
  const config = result.data as ConfigFile;
  const conflicts = [...conflictsIn(config.stores ?? []), ...targetFaultsIn(config.targets ?? {})];
  return conflicts.length > 0
    ? refuseWith(conflicts.map(({ refusal }) => locate(refusal)))
    : accept({ config, locate });
}

const SECRET_IN_FILE = `contains ${SECRET_KINDS}: the file never contains a secret; write { "env": "NAME" } for the variable that contains it`;

const SYNTAX_TEXTS: Readonly<Partial<Record<ParseErrorCode, string>>> = {
  1: "this is not a JSON value",
  2: "this is not a number",
  3: "the name of a field is expected, in double quotes, and no comma after the last field",
  4: "a value is expected",
  5: "a colon is expected",
  6: "a comma is expected",
  7: "a closing brace } is expected",
  8: "a closing bracket ] is expected",
  9: "the end of the file is expected",
  11: "the comment has no end",
  12: "the string has no end",
  13: "the number is not complete",
};

function refuseWith(faults: readonly ConfigFault[]): Outcome<never, readonly ConfigFault[]> {
  return { ok: false, refusal: faults };
}

/** Values of jsonc-parser's `SyntaxKind`, a const enum that exists only in the package's types. */
const TOKEN_KINDS = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, end: 17 };

/** Refuses texts that are too long, or too deep for the recursive parser. */
function limitFault(text: string): ConfigFault | undefined {
  if (text.length > MAX_FILE_LENGTH)
    return faultAt(text, 0, faultOfField([], `the file may have at most ${MAX_FILE_LENGTH} characters`));
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== TOKEN_KINDS.end; token = scanner.scan()) {
    if (token === TOKEN_KINDS.openBrace || token === TOKEN_KINDS.openBracket) depth += 1;
    if (token === TOKEN_KINDS.closeBrace || token === TOKEN_KINDS.closeBracket) depth -= 1;
    if (depth > MAX_DEPTH) {
      const fault = faultOfField([], `the file may have at most ${MAX_DEPTH} levels`);
      return faultAt(text, scanner.getTokenOffset(), fault);
    }
  }
  return undefined;
}

function faultsOf(issue: z.core.$ZodIssue, tree: Node): FieldFault[] {
  const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
  if (issue.code === "unrecognized_keys") {
    const names = fieldNamesAt(path);
    return issue.keys.map((key) => ({
      ...faultOfField([...path, key], unknownKeyText(key, names)),
      isUnknown: true,
    }));
  }
  if (issue.code === "invalid_union") {
    const branchIssues = issue.errors.find((issues) => !issues.some(isWrongType)) ?? [];
    return branchIssues.length === 0
      ? [faultOfField(path, issue.message)]
      : branchIssues.flatMap((child) => faultsOf({ ...child, path: [...issue.path, ...child.path] }, tree));
  }
  const isMissing = issue.code === "invalid_type" && findNodeAtLocation(tree, [...path]) === undefined;
  if (isMissing) return [faultOfField(path, "is missing")];
  if (issue.code === "invalid_key") return [faultOfField(path, issue.issues[0]?.message ?? issue.message)];
  return [
    faultOfField(path, issue.message.replace(/^Invalid input: /, "").replace(/^Too (small|big): /, "")),
  ];
}

function isWrongType({ code, path }: z.core.$ZodIssue): boolean {
  return code === "invalid_type" && path.length === 0;
}

function unknownKeyText(key: string, names: readonly string[]): string {
  const hint = closestMatch(key, names, { maxDistance: MAX_TYPING_ERRORS });
  const suggestion = hint === undefined ? `fields: ${names.join(", ")}` : `did you mean ${hint}?`;
  return `is not a field here; ${suggestion}`;
}

function fieldNamesAt(path: FieldPath): string[] {
  let schema: z.core.$ZodType | undefined = configFile;
  for (const step of path) {
    schema = unwrapSchema(schema);
    if (schema instanceof z.ZodMiniObject) {
      const fields: [string, z.core.$ZodType][] = Object.entries(schema.shape);
      schema = fields.find(([name]) => snakeCase(name) === step)?.[1];
    } else if (schema instanceof z.ZodMiniArray) schema = schema.def.element;
    else if (schema instanceof z.ZodMiniRecord) schema = schema.def.valueType;
  }
  const object = unwrapSchema(schema);
  return object instanceof z.ZodMiniObject ? Object.keys(object.shape).map(snakeCase) : [];
}

function unwrapSchema(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodMiniOptional) return unwrapSchema(schema.def.innerType);
  if (schema instanceof z.ZodMiniCodec) return unwrapSchema(schema.def.in);
  if (schema instanceof z.ZodMiniUnion)
    return schema.def.options.find((option) => option instanceof z.ZodMiniObject);
  return schema;
}

function nodeOf(tree: Node, { path, isUnknown }: FieldFault): Node {
  const foundNode = findNodeAtLocation(tree, [...path]);
  const key = foundNode?.parent?.type === "property" ? foundNode.parent.children?.[0] : undefined;
  return (isUnknown === true ? key : undefined) ?? foundNode ?? parentNode(tree, path);
}

function parentNode(tree: Node, path: FieldPath): Node {
  const parentPath = path.slice(0, -1);
  if (parentPath.length === 0) return tree;
  return findNodeAtLocation(tree, parentPath) ?? parentNode(tree, parentPath);
}

function faultAt(text: string, offset: number, { path, why, message }: FieldFault): ConfigFault {
  const lines = text.slice(0, offset).split(/\r\n|\r|\n/);
  const position = { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
  return { field: fieldPathText(path), why, message, ...position };
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.children ?? []).flatMap(nodesOf)];
}

function findDuplicateKeys(tree: Node): Node[] {
  return nodesOf(tree)
    .filter(({ type }) => type === "object")
    .flatMap((object) => {
      const keys = (object.children ?? []).flatMap(({ children = [] }) => children.slice(0, 1));
      return keys.filter((key, index) => keys.findIndex(({ value }) => value === key.value) < index);
    });
}

function redactedPath(node: Node): FieldPath {
  return getNodePath(node).map((step) => (typeof step === "string" && containsSecret(step) ? "…" : step));
}
