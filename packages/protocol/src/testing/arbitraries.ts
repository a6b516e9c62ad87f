import fc from "fast-check";

/** First surrogate code point, and number of surrogates. They are not characters. */
const SURROGATES = 0xd800;
const SURROGATE_COUNT = 0x800;

/**
 * Any Unicode character, for `fc.string({ unit: character })`. The library's unit `binary` is equivalent, but takes
 * more than a second to list all characters at its first use.
 */
export const character: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATE_COUNT }).map(
  (index) => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  (text) => indexOf(text),
);

/** Throws if the text is not one character: then the library knows that it is not a value of this arbitrary. */
function indexOf(text: unknown): number {
  const code = typeof text === "string" ? text.codePointAt(0) : undefined;
  if (
    code === undefined ||
    text !== String.fromCodePoint(code) ||
    (code >= SURROGATES && code < SURROGATES + SURROGATE_COUNT)
  ) {
    throw new TypeError("not one character");
  }
  return code < SURROGATES ? code : code - SURROGATE_COUNT;
}
