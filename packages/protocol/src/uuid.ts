const DASH = 45;
/** 1 for the character codes of 0-9, a-f and A-F. */
const HEX_DIGITS = new Uint8Array(128);
for (const digit of "0123456789abcdefABCDEF") HEX_DIGITS[digit.charCodeAt(0)] = 1;

/**
 * Whether the text is a UUID of any version in its 36-character form. Uses a table instead of a regular expression,
 * since it runs for every frame.
 */
export function isUuid(text: string): boolean {
  if (text.length !== 36) return false;
  for (let at = 0; at < 36; at++) {
    const code = text.charCodeAt(at);
    const isDashPlace = at === 8 || at === 13 || at === 18 || at === 23;
    if (isDashPlace ? code !== DASH : HEX_DIGITS[code] !== 1) return false;
  }
  return true;
}
