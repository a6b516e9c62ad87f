import { nameProblem } from "@svc-runtime/protocol";
import { segmentOf, tokensOf } from "./topic-tokens.ts";

/** Limits of a pattern, so that no pattern makes lookups expensive. */
const MAX_SEGMENTS = 32;
const MAX_DOUBLE_STARS = 2;

/** The topic or pattern of a subscription. `*` matches one segment, `**` any number of segments, including none. */
export interface TopicPattern {
  /** The pattern as it was written. */
  readonly text: string;
  /**
   * Lists of tokens. A topic matches the pattern if it matches one of the lists. Undefined if the pattern has no
   * wildcard and matches only the topic of this name.
   */
  readonly wildcards: readonly (readonly string[])[] | undefined;
}

/** Returns why a pattern is invalid, or undefined if it is valid. */
export function patternProblem(text: string): string | undefined {
  const problem = nameProblem(text, "the topic");
  if (problem !== undefined) return problem;
  if (!text.includes("*")) return undefined;
  const segments = tokensOf(text).map(segmentOf);
  const misplaced = segments.find((segment) => segment.includes("*") && segment !== "*" && segment !== "**");
  if (misplaced !== undefined)
    return `\`*\` must be a whole segment, unlike in ${JSON.stringify(misplaced)}; segments are separated by . : and /`;
  if (segments.length > MAX_SEGMENTS)
    return `a pattern may have at most ${MAX_SEGMENTS} segments; this one has ${segments.length}`;
  if (segments.filter((segment) => segment === "**").length > MAX_DOUBLE_STARS)
    return `a pattern may contain \`**\` at most twice`;
  return undefined;
}

/** Parses a valid pattern. */
export function parsePattern(text: string): TopicPattern {
  return { text, wildcards: text.includes("*") ? alternatives(tokensOf(text)) : undefined };
}

/**
 * Returns the lists of tokens for a pattern. `**.a` also matches `a`, for which a second list is needed: if the leading
 * `**` matches nothing, the next token has no separator.
 */
function alternatives(tokens: string[]): string[][] {
  const [first, second, ...others] = tokens;
  if (first !== "**" || second === undefined) return [tokens];
  return [tokens, ...alternatives([segmentOf(second), ...others])];
}
