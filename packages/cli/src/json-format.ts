import { jsonEscape } from "./log-lines.ts";

/** Blanks between tokens, or nothing. */
const BLANKS = /[ \t\n\r]*/y;
/** What ends a number or a word. */
const END_OF_WORD = /[ \t\n\r,\]}]|$/g;
/** What JSON.stringify leaves as it is, and a terminal obeys: control characters, and those that turn the direction of text. */
const OBEYED = /[\u007f-\u009f\p{Bidi_Control}]/gu;

/**
 * Writes JSON text on one line or indented by 2, as JSON.stringify would, but with every number as it stands there: read into a number it would be
 * rounded. Strings are written without needless escapes; what a terminal would obey is escaped. `json` must be JSON.
 */
export function formatJson(json: string, style: "line" | "indented"): string {
  const parts: string[] = [];
  let depth = 0;
  let previous = "";
  const newLine = (): void => {
    if (style === "indented") parts.push("\n", "  ".repeat(depth));
  };
  for (const token of tokensOf(json)) {
    const isClosing = token === "}" || token === "]";
    const isFirst = previous === "{" || previous === "[";
    if (isClosing) depth -= 1;
    if (previous === "," || isFirst !== isClosing) newLine();
    parts.push(token === ":" && style === "indented" ? ": " : token);
    if (token === "{" || token === "[") depth += 1;
    previous = token;
  }
  return parts.join("");
}

/** One line of JSON; indented when it goes to a terminal that is narrower than the line. */
export function formatResult(json: string, columns: number | undefined): string {
  const line = formatJson(json, "line");
  return columns !== undefined && line.length > columns ? formatJson(json, "indented") : line;
}

/** The JSON text of each member of an object, by its name. `json` must be an object's; where a name comes twice, the last one counts. */
export function jsonMembers(json: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const text of partsOf(json)) {
    const name = text.slice(0, endOfString(text, 0));
    members.set(JSON.parse(name) as string, text.slice(name.length + 1));
  }
  return members;
}

/** The JSON text of each element of an array. `json` must be an array's. */
export function jsonElements(json: string): readonly string[] {
  return [...partsOf(json)];
}

/** What lies between the commas of an object or array, each part on one line. */
function* partsOf(json: string): Generator<string, void, void> {
  let depth = 0;
  let part = "";
  for (const token of tokensOf(json)) {
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 1 && token === ",") {
      yield part;
      part = "";
    } else if (depth > 0) part += token;
    if (token === "{" || token === "[") depth += 1;
  }
  if (part !== "") yield part;
}

/** Strings come without needless escapes, and with those that a terminal needs. */
function* tokensOf(json: string): Generator<string, void, void> {
  for (let at = skipBlanks(json, 0); at < json.length; at = skipBlanks(json, at)) {
    const start = at;
    const char = json.charAt(start);
    at = char === '"' ? endOfString(json, start) : "{}[],:".includes(char) ? start + 1 : endOfWord(json, start);
    const token = json.slice(start, at);
    yield char === '"' ? plainString(token) : token;
  }
}

function plainString(token: string): string {
  return (token.includes("\\") ? JSON.stringify(JSON.parse(token)) : token).replaceAll(OBEYED, jsonEscape);
}

function skipBlanks(json: string, start: number): number {
  BLANKS.lastIndex = start;
  BLANKS.test(json);
  return BLANKS.lastIndex;
}

function endOfWord(json: string, start: number): number {
  END_OF_WORD.lastIndex = start;
  return END_OF_WORD.exec(json)?.index ?? json.length;
}

/** Behind the closing quote of the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json.charAt(at) !== '"') at += json.charAt(at) === "\\" ? 2 : 1;
  return at + 1;
}
