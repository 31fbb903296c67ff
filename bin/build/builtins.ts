/** The import of a module of Node, as esbuild writes it. Every use of it is a member: `import_node_crypto.hash`. */
const BUILTIN = /\b(import_node_\w+)=(__toESM\(require\("node:[\w/]+"\)(?:,1)?\)|require\("node:[\w/]+"\))/g;
const BUILTIN_MEMBER = /\b(import_node_\w+)\./g;
const LAZILY = "const __lazily=(load)=>{let own;return{get own(){return own??=load()}}};";

/**
 * Loads each module of Node at its first use: `node:crypto` and `node:stream` take up to a tenth of a start, and most
 * commands never use them.
 */
export function loadLazily(text: string): string {
  const names = new Set<string>();
  const loaded = text.replaceAll(BUILTIN, (_, name: string, load: string) => {
    names.add(name);
    return `${name}=__lazily(()=>${load})`;
  });
  return loaded
    .replaceAll(BUILTIN_MEMBER, (use, name: string) => (names.has(name) ? `${name}.own.` : use))
    .replace('"use strict";', (directive) => directive + (names.size > 0 ? LAZILY : ""));
}
