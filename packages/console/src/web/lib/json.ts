import { LosslessNumber, parse, stringify } from "lossless-json";

/** A JSON value. Numbers that JavaScript would round are kept as text (`LosslessNumber`). */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | LosslessNumber
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Parses JSON without rounding numbers. Throws SyntaxError with the position. */
export function parseJson(text: string): JsonValue {
  return parse(text, undefined, numberOf) as JsonValue;
}

function numberOf(text: string): number | LosslessNumber {
  const number = Number(text);
  return String(number) === text ? number : new LosslessNumber(text);
}

/** Formats JSON with exact numbers. */
export function formatJson(value: JsonValue, indent: number | undefined = 2): string {
  return stringify(value, undefined, indent) ?? "null";
}

export function isBigNumber(value: JsonValue): value is LosslessNumber {
  return value instanceof LosslessNumber;
}
