/**
 * The import of a module of Node or of another chunk, as esbuild writes it. Every use of it is a member:
 * `import_node_crypto.hash`.
 */
const IMPORT =
  /\b(import_\w+)=(__toESM\(require\("(?:node:|\.\/)[\w/.-]+"\)(?:,1)?\)|require\("(?:node:|\.\/)[\w/.-]+"\))/g;
const MEMBER = /\b(import_\w+)\./g;

/** The beginning of a chunk whose imports are lazy. */
export const LAZY_START =
  '"use strict";const __lazily=(load)=>{let own;return{get own(){return own??=load()}}};';

/**
 * Loads each module of Node and each chunk at its first use; the chunk begins with `LAZY_START`. A command needs few of
 * the modules that its files import: `node:crypto` and `node:stream` alone take up to a tenth of a start, and the
 * schemas of the control API another.
 */
export function loadLazily(text: string): string {
  const names = new Set<string>();
  const loaded = text.replaceAll(IMPORT, (_, name: string, load: string) => {
    names.add(name);
    return `${name}=__lazily(()=>${load})`;
  });
  return loaded.replaceAll(MEMBER, (use, name: string) => (names.has(name) ? `${name}.own.` : use));
}
