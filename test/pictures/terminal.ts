/** The styles of a coloured terminal, by SGR code. */
const STYLES: Readonly<Record<string, string>> = {
  "1": "bold",
  "2": "dim",
  "31": "red",
  "32": "green",
  "36": "cyan",
};
const CODE = new RegExp(`${String.fromCharCode(0x1b)}\\[(\\d*)m`, "g");

/** A page that shows a program's output as a terminal does. */
export function terminalPage(output: string): string {
  const escaped = output.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  let open = 0;
  const markup = escaped.replace(CODE, (_code, number: string) => {
    const style = STYLES[number];
    if (style !== undefined) {
      open += 1;
      return `<span class="${style}">`;
    }
    if (open === 0) return "";
    open -= 1;
    return "</span>";
  });
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; background: #0d1220; }
    pre { margin: 0; padding: 20px 24px; color: #dfe5f2; font: 13px/1.55 "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
    .bold { font-weight: 700; color: #fff; } .dim { color: #8b95ad; }
    .red { color: #ff9a92; } .green { color: #5fd394; } .cyan { color: #7ccdf0; }
  </style><pre>${markup.trimEnd()}</pre>`;
}
