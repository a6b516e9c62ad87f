import { MAX_NAME_BYTES } from "./limits.ts";

const encoder = new TextEncoder();
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const controlCharacter = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Returns why a name is not a valid id, or undefined. `what` begins the message, e.g. "function id". */
export function nameProblem(name: string, what: string): string | undefined {
  if (name.trim() === "") return `${what} is empty; give it 1 to ${MAX_NAME_BYTES} bytes`;
  // A string of n UTF-16 units has n to 3n bytes in UTF-8, so most names need no encoding.
  if (
    name.length > MAX_NAME_BYTES ||
    (name.length * 3 > MAX_NAME_BYTES && encoder.encode(name).length > MAX_NAME_BYTES)
  ) {
    return `${what} is longer than ${MAX_NAME_BYTES} bytes`;
  }
  if (controlCharacter.test(name)) return `${what} contains a control character`;
  return undefined;
}
