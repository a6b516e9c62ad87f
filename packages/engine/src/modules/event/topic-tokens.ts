/** Separators of segments. They are significant: `a.b` and `a:b` are two topics. */
const SEPARATORS = ".:/";

/**
 * Splits a topic into tokens. A token is a segment with the separator before it: `order`, `.created`. The first token
 * has no separator and may be empty.
 */
export function tokensOf(topic: string): string[] {
  const tokens: string[] = [];
  let from = 0;
  for (let at = 0; at < topic.length; at++) {
    if (!SEPARATORS.includes(topic.charAt(at))) continue;
    if (at > 0) tokens.push(topic.slice(from, at));
    else tokens.push("");
    from = at;
  }
  tokens.push(topic.slice(from));
  return tokens;
}

/** Returns `.` for `.created`, "" for `order`. */
export function separatorOf(token: string): string {
  const first = token.charAt(0);
  return first !== "" && SEPARATORS.includes(first) ? first : "";
}

export function segmentOf(token: string): string {
  return token.slice(separatorOf(token).length);
}
