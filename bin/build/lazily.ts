/**
 * The import of a module of Node or of another chunk, as esbuild writes it. Every use of it is a member:
 * `import_node_crypto.hash`.
 */
const IMPORT =
  /\b(import_\w+)=(__toESM\(require\("(?:node:|\.\/)[\w/.-]+"\)(?:,1)?\)|require\("(?:node:|\.\/)[\w/.-]+"\))/g;
const MEMBER = /\b(import_\w+)\./g;

/**
 * The beginning of a chunk whose imports are lazy. All imports share one getter, which V8 can inline; a getter
 * for each import cost a retrieve about 3 %.
 */
export const LAZY_START =
  '"use strict";class __Lazy{constructor(load){this.load=load;this.loaded=undefined}get own(){return this.loaded??=this.load()}}const __lazily=(load)=>new __Lazy(load);';

/** The exports of a chunk, as esbuild writes them: `__export(chunk_exports,{name:()=>variable});`. */
const EXPORTS = /__export\(\w+,\{([^}]*)\}\)/;
const EXPORTED = /([\w$]+):\(\)=>([\w$.]+)/g;

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
  return withPlainExports(
    loaded.replaceAll(MEMBER, (use, name: string) => (names.has(name) ? `${name}.own.` : use)),
  );
}

/**
 * Makes the exports plain values at the end of the chunk: esbuild exports getters, which cost a create about 3 %. No
 * variable changes after its chunk has run (test/real/build.test.ts). The export of another chunk stays a getter,
 * because it would load that chunk.
 */
function withPlainExports(text: string): string {
  const [, exported] = EXPORTS.exec(text) ?? [];
  if (exported === undefined) return text;
  const plain = exported.replaceAll(EXPORTED, (_, name: string, value: string) =>
    value.includes(".") ? `get ${name}(){return ${value}}` : `${name}:${value}`,
  );
  return `${text}\nmodule.exports={__esModule:true,${plain}};\n`;
}
