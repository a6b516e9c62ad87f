import fc from "fast-check";

/** First of the code points that are halves of surrogate pairs, and how many there are. They are no characters. */
const SURROGATES = 0xd800;
const SURROGATE_COUNT = 0x800;

/**
 * Any Unicode character, for `fc.string({ unit: character })`. The library's own unit `binary` gives the same, but takes more than a second to list all
 * characters when it is used first.
 */
export const character: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATE_COUNT }).map(
  (index) => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  (text) => indexOf(text),
);

/** Throws for what is not one character: then the library knows that it cannot have come from here. */
function indexOf(text: unknown): number {
  const code = typeof text === "string" ? text.codePointAt(0) : undefined;
  if (code === undefined || text !== String.fromCodePoint(code) || (code >= SURROGATES && code < SURROGATES + SURROGATE_COUNT)) {
    throw new TypeError("not one character");
  }
  return code < SURROGATES ? code : code - SURROGATE_COUNT;
}
