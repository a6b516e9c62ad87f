import { createRequire } from "node:module";
import type { RE2JS as RE2JSType } from "re2js";

const require = createRequire(import.meta.url);

/** Maximum length of a pattern, in characters. It is limited because the size of the compiled pattern grows with it. */
const MAX_PATTERN = 1_000;

/**
 * Replaces `new RegExp` in the validator. Matches in time proportional to the text (RE2). Throws for patterns that RE2
 * does not support.
 */
export const linearPattern = Object.assign(
  (pattern: string): { test(text: string): boolean; toString(): string } => {
    if (pattern.length > MAX_PATTERN)
      throw new Error(
        `the pattern has ${pattern.length} characters; ${MAX_PATTERN} is the limit for restricted connections`,
      );
    const { RE2JS } = require("re2js") as { RE2JS: typeof RE2JSType };
    let compiled: RE2JSType;
    try {
      compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(
        `the pattern ${JSON.stringify(pattern)} cannot be matched in linear time (RE2), as those of restricted connections must: ${reason}`,
      );
    }
    // The validator distinguishes patterns by their text.
    return { test: (text) => compiled.matcher(text).find(), toString: () => `/${pattern}/` };
  },
  { code: "linearPattern" },
);
