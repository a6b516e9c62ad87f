import { t } from "../../labels/translate.ts";
import { jsonProblem } from "../../lib/json-text.ts";
import { maskProblem } from "../../lib/mask-problem.ts";

export const NEW_TYPES = ["string", "number", "boolean", "null", "JSON"] as const;
export type NewType = (typeof NEW_TYPES)[number];

/**
 * Text and type of a new value. The user chooses the type, because a text such as `007` may be meant as a string or as
 * a number.
 */
export interface NewValue {
  readonly type: NewType;
  readonly text: string;
}

export const emptyValue: NewValue = { type: "string", text: "" };
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns why the value cannot be stored under this key. Returns undefined if it can. */
export function valueProblem(value: NewValue, key: string): string | undefined {
  const { type, text } = value;
  if (type === "number")
    return NUMBER.test(text.trim()) ? undefined : t`This is not a JSON number, e.g. 12, -0.5, 1e9.`;
  const problem = type === "JSON" ? jsonProblem(text) : undefined;
  if (problem !== undefined) return t`This is not JSON: ${problem}`;
  const mask = maskProblem(valueToJson(value), undefined, key);
  return mask === undefined ? undefined : `${mask}.`;
}

export function valueToJson({ type, text }: NewValue): string {
  if (type === "string") return JSON.stringify(text);
  if (type === "null") return "null";
  if (type === "boolean") return text === "true" ? "true" : "false";
  return text.trim();
}
