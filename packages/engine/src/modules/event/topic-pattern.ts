import { nameProblem } from "@svc/protocol";
import { segmentOf, tokensOf } from "./topic-tokens.ts";

/** What one pattern may ask of the index, so that no pattern makes looking up expensive for all. */
const MAX_SEGMENTS = 32;
const MAX_DOUBLE_STARS = 2;

/** What a subscriber listens to: a topic, or a pattern with `*` (any one segment) or `**` (any number of segments, also none). */
export interface TopicPattern {
  /** As it was asked for. */
  readonly text: string;
  /** Undefined: it has no wildcard, and means the topic of this name alone. */
  readonly wildcards: readonly (readonly string[])[] | undefined;
}

/** Says what is wrong with a pattern; undefined when it can be listened to. */
export function patternProblem(text: string): string | undefined {
  const problem = nameProblem(text, "the topic");
  if (problem !== undefined) return problem;
  if (!text.includes("*")) return undefined;
  const segments = tokensOf(text).map(segmentOf);
  const misplaced = segments.find((segment) => segment.includes("*") && segment !== "*" && segment !== "**");
  if (misplaced !== undefined) return `\`*\` stands for a whole segment, and ${JSON.stringify(misplaced)} is more than that; segments are divided by . : and /`;
  if (segments.length > MAX_SEGMENTS) return `a pattern has at most ${MAX_SEGMENTS} segments, and this one ${segments.length}`;
  if (segments.filter((segment) => segment === "**").length > MAX_DOUBLE_STARS) return `a pattern has \`**\` at most twice`;
  return undefined;
}

/** `text` has no problem. */
export function parsePattern(text: string): TopicPattern {
  return { text, wildcards: text.includes("*") ? alternatives(tokensOf(text)) : undefined };
}

/** `**.a` is also `a`: where the leading `**` stands for nothing, no separator is left before what follows. */
function alternatives(tokens: string[]): string[][] {
  const [first, second, ...others] = tokens;
  if (first !== "**" || second === undefined) return [tokens];
  return [tokens, ...alternatives([segmentOf(second), ...others])];
}
