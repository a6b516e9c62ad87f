import { z } from "zod";

/** Longest scope or key, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 1024;

/** A surrogate that is not half of a pair: no Unicode character, and nothing that UTF-8 can hold. */
const loneSurrogate = /\p{Surrogate}/u;
const HALF_A_PAIR = "holds half of a surrogate pair, which is no Unicode text";

/** A scope or a key: 1 to 1,024 bytes of any Unicode text, except `__proto__`. `what` opens the description, e.g. "scope". */
export function itemNameSchema(what: string) {
  return z
    .string()
    .superRefine((name, context) => {
      const problem = problemOf(name);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({ description: `${what}: 1 to ${MAX_NAME_BYTES} bytes of any Unicode text`, minLength: 1 });
}

/** The beginning of keys; may be empty. */
export const prefixSchema = z
  .string()
  .refine((prefix) => !loneSurrogate.test(prefix), { message: HALF_A_PAIR })
  .meta({ description: "Only keys that begin with it" });

function problemOf(name: string): string | undefined {
  if (name === "") return `must not be empty; give it 1 to ${MAX_NAME_BYTES} bytes`;
  if (name === "__proto__") return "`__proto__` cannot be used as a name; choose another";
  // A text of n UTF-16 units has n to 3n bytes, so most names need no counting.
  if (name.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(name) > MAX_NAME_BYTES)
    return `is ${Buffer.byteLength(name)} bytes long; at most ${MAX_NAME_BYTES} are allowed`;
  if (loneSurrogate.test(name)) return HALF_A_PAIR;
  return undefined;
}
