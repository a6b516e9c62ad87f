import type { SpanRecord } from "../model.ts";
import { textOfValue } from "../query/attributes.ts";

/** Whether every word of the text is somewhere in a span: its name, its service, its id, what it failed with, an attribute as `key=value`. */
export function textMatcher(text: string): (span: SpanRecord) => boolean {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return (span) => {
    const texts = textsOf(span);
    return words.every((word) => texts.some((one) => one.includes(word)));
  };
}

function textsOf({ name, resource, spanId, statusDescription = "", attributes }: SpanRecord): readonly string[] {
  const own = Object.entries(attributes).map(([key, value]) => (value === undefined ? "" : `${key}=${textOfValue(value)}`));
  return [name, resource.service, spanId, statusDescription, ...own].map((one) => one.toLowerCase());
}
