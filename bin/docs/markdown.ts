export const GENERATED_NOTE =
  "<!-- Written by `npm run docs` from the values that the program uses: change the values, not this page. -->";

/** Escapes pipes, which would end a cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** Formats placeholders such as `<id>` as code, because Markdown would read them as HTML. */
export function prose(text: string): string {
  return text.replaceAll(/<[^<>]*>/g, (placeholder) => code(placeholder));
}

export function page(title: string, parts: readonly string[]): string {
  return `${[`# ${title}`, GENERATED_NOTE, ...parts].join("\n\n")}\n`;
}

export function wrap(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const lastLine = lines.at(-1);
    if (lastLine === undefined || lastLine.length + 1 + word.length > 120) lines.push(word);
    else lines[lines.length - 1] = `${lastLine} ${word}`;
  }
  return lines.join("\n");
}
