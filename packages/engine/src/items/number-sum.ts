// This module runs in the store thread, so it must not import the rest of the engine.
import { ExactNumber } from "./exact-json.ts";

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;
/** JSON.stringify prints numbers from this one on with an exponent. */
const PRINTED_AS_FLOAT = 1e21;
const integerText = /^-?\d+$/;

/**
 * Adds an integer to a JSON number. The sum is exact for integers from -2^63 to 2^63-1. Returns undefined if `value` is
 * not a number or the sum is out of range.
 */
export function addInteger(value: unknown, by: number): number | ExactNumber | undefined {
  if (typeof value === "number") {
    if (!Number.isInteger(value) || Math.abs(value) >= PRINTED_AS_FLOAT) return finite(value + by);
    const sum = value + by;
    if (Number.isSafeInteger(value) && Number.isSafeInteger(sum)) return sum;
    return exactSum(BigInt(value), by);
  }
  if (!(value instanceof ExactNumber)) return undefined;
  return integerText.test(value.text) ? exactSum(BigInt(value.text), by) : finite(Number(value.text) + by);
}

function exactSum(value: bigint, by: number): number | ExactNumber | undefined {
  const sum = value + BigInt(by);
  if (sum < LEAST || sum > MOST) return undefined;
  return Number.isSafeInteger(Number(sum)) ? Number(sum) : new ExactNumber(String(sum));
}

function finite(sum: number): number | undefined {
  return Number.isFinite(sum) ? sum : undefined;
}
