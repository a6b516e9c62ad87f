import type { SpanRecord } from "../../model.ts";
import type { SpanCondition } from "../trace-match.ts";
import { readSpan } from "./span-json.ts";

/** Judges a trace by the texts of its spans. Reads only those that can match: to look for a text is many times quicker. */
export function matchesTexts(conditions: readonly SpanCondition[], texts: readonly string[]): boolean {
  const lower: string[] = [];
  const spans: SpanRecord[] = [];
  const matchesAt = ({ needle, matches }: SpanCondition, index: number, text: string): boolean => {
    if (needle !== undefined) {
      lower[index] ??= text.toLowerCase();
      if (!lower[index].includes(needle)) return false;
    }
    spans[index] ??= readSpan(text);
    return matches(spans[index]);
  };
  return conditions.every((condition) => texts.some((text, index) => matchesAt(condition, index, text)) !== condition.negated);
}
