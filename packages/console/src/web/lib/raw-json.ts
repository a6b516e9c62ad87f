// Reads JSON only as far as to cut it: what users stored is shown and written back as the text that it is, digits, order of members and all.

/** The members of an object as the text of their values; of a name that comes twice the last. Throws SyntaxError when the text is no object. */
export function membersOf(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const [from, to] of partsOf(text, "{", "}")) {
    const nameEnd = endOfString(text, skipSpace(text, from));
    const colon = skipSpace(text, nameEnd);
    if (text[colon] !== ":") throw new SyntaxError(`a colon is missing at ${colon}`);
    members.set(JSON.parse(text.slice(from, nameEnd)) as string, text.slice(colon + 1, to).trim());
  }
  return members;
}

/** The text of each element of an array. Throws SyntaxError when the text is none. */
export function elementsOf(text: string): readonly string[] {
  return partsOf(text, "[", "]").map(([from, to]) => text.slice(from, to).trim());
}

/** Where each part between two commas of the outermost bracket begins and ends. */
function partsOf(text: string, open: string, close: string): readonly (readonly [number, number])[] {
  const start = skipSpace(text, 0);
  if (text[start] !== open) throw new SyntaxError(`expected ${open} at ${start}`);
  const parts: (readonly [number, number])[] = [];
  let from = skipSpace(text, start + 1);
  if (text[from] === close) return parts;
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (sign === '"') at = endOfString(text, at) - 1;
    else if (sign === "{" || sign === "[") depth++;
    else if (depth > 0 && (sign === "}" || sign === "]")) depth--;
    else if (depth === 0 && sign === close) {
      parts.push([from, at]);
      return parts;
    } else if (depth === 0 && sign === ",") {
      parts.push([from, at]);
      from = at + 1;
    }
  }
  throw new SyntaxError(`${close} is missing at the end`);
}

function endOfString(text: string, start: number): number {
  if (text[start] !== '"') throw new SyntaxError(`expected a string at ${start}`);
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  throw new SyntaxError("a string has no end");
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (text[next] === " " || text[next] === "\n" || text[next] === "\t" || text[next] === "\r") next++;
  return next;
}
