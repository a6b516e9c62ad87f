const SECRET = /password|passwd|secret|token|authorization|cookie|api_?key|private_?key|credential/i;
const MASK = "••••••";

/** Whether what is called so is shown only on request. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

const MEMBER = /("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*"?|[{[]|[^\s,{}[\]"]+)/g;

/** The beginning of JSON for a line of a list, on one line, with secrets masked; from a secret that is an object or array on, nothing. */
export function maskedPreview(json: string, length: number): string {
  // Enough to fill the line even when much of it is white space or masked.
  const head = json.slice(0, length * 8);
  let cut: number | undefined;
  const masked = head.replace(MEMBER, (whole, name: string, value: string, at: number) => {
    if (!isSecretName(name)) return whole;
    if (value === "{" || value === "[") cut ??= at;
    return `${name}:"${MASK}"`;
  });
  const shown = cut === undefined ? masked : `${maskedPreview(json.slice(0, cut), length)}${json.slice(cut).split(":", 1)[0] ?? ""}:"${MASK}" …`;
  const line = shown.replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
