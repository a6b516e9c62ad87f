import { z } from "zod";
import { nearestName } from "../../../kernel/nearest-name.ts";

/** A word of a few, in any case; refused with the nearest of them. `alsoKnown`: other spellings, which are not named. */
export function oneOf(words: readonly string[], alsoKnown: (word: string) => boolean = () => false): z.ZodString {
  const known = new Set(words.map((word) => word.toLowerCase()));
  return z
    .string()
    .max(64)
    .refine((word) => known.has(word.toLowerCase()) || alsoKnown(word), {
      error({ input }) {
        const nearest = nearestName(String(input), words);
        return `is none of ${words.join(", ")}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
      },
    });
}
