import { endOfToken, jsonEscape, skipSpace } from "@svc-runtime/protocol/json-text";

/** Control and bidirectional characters that JSON.stringify does not escape, although a terminal interprets them. */
const CONTROL_CHARACTERS = /[\u007f-\u009f\p{Bidi_Control}]/gu;

/**
 * Formats JSON text on one line or indented by 2, like JSON.stringify. But it keeps every number as written, because
 * parsing would round it. Removes unnecessary escapes from strings and escapes control characters. `json` must be valid
 * JSON.
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

/** Formats JSON on one line. If the line is wider than the terminal, formats it indented. */
export function formatResult(json: string, columns: number | undefined): string {
  const line = formatJson(json, "line");
  return columns !== undefined && line.length > columns ? formatJson(json, "indented") : line;
}

/** Returns the token as written to the output. The escapes of a string are normalised. */
function writtenToken(token: string): string {
  if (!token.startsWith('"')) return token;
  return (token.includes("\\") ? JSON.stringify(JSON.parse(token)) : token).replaceAll(CONTROL_CHARACTERS, jsonEscape);
}
