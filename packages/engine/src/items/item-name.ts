import { z } from "zod";

/** Maximum length of a scope or key, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 1024;

/** Matches an unpaired surrogate, which UTF-8 cannot encode. */
export const loneSurrogate = /\p{Surrogate}/u;
export const UNPAIRED_SURROGATE = "contains an unpaired surrogate, which is not valid Unicode";

/**
 * Returns the schema of a scope or key: 1 to 1,024 bytes of Unicode text, except `__proto__`. `what` starts the
 * description, e.g. "scope".
 */
export function itemNameSchema(what: string) {
  return z
    .string()
    .superRefine((name, context) => {
      const problem = problemOf(name);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({ description: `${what}: 1 to ${MAX_NAME_BYTES} bytes of any Unicode text`, minLength: 1 });
}

/** Schema of a key prefix. May be empty. */
export const prefixSchema = z
  .string()
  .refine((prefix) => !loneSurrogate.test(prefix), { message: UNPAIRED_SURROGATE })
  .meta({ description: "Only keys that start with this prefix" });

function problemOf(name: string): string | undefined {
  if (name === "") return `must not be empty; use 1 to ${MAX_NAME_BYTES} bytes`;
  if (name === "__proto__") return "`__proto__` cannot be used as a name; choose another";
  // A string of n UTF-16 units has at most 3n bytes. So most names are short enough without counting their bytes.
  if (name.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(name) > MAX_NAME_BYTES)
    return `is ${Buffer.byteLength(name)} bytes long; at most ${MAX_NAME_BYTES} are allowed`;
  if (loneSurrogate.test(name)) return UNPAIRED_SURROGATE;
  return undefined;
}
