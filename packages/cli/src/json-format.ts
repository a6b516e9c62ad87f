import { endOfToken, jsonEscape, skipSpace } from "@svc/protocol/json-text";

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
  let end = 0;
  for (let start = skipSpace(json, 0); start < json.length; start = skipSpace(json, end)) {
    end = endOfToken(json, start);
    const token = writtenToken(json.slice(start, end));
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

/** The text of a token as it is written: strings without needless escapes, and with those that a terminal needs. */
function writtenToken(token: string): string {
  if (!token.startsWith('"')) return token;
  return (token.includes("\\") ? JSON.stringify(JSON.parse(token)) : token).replaceAll(OBEYED, jsonEscape);
}
