import { z } from "zod";

type Branded<Name extends string> = string & { readonly __brand: Name };

/** Name of a function: `namespace::name` or a dotted path. 1 to 256 bytes of UTF-8, no control characters. */
export type FunctionId = Branded<"FunctionId">;
/** Assigned by the engine to each connection. A UUID, new on every connect. */
export type WorkerId = Branded<"WorkerId">;
/** A UUID created by the caller. The same id identifies the call on the caller's and on the callee's connection. */
export type InvocationId = Branded<"InvocationId">;
/** A UUID created by the worker that registers the trigger. Stays the same over reconnects. */
export type TriggerId = Branded<"TriggerId">;
/** `http`, `cron`, `state`, or a type that a worker provides. Same rule as function ids. */
export type TriggerTypeId = Branded<"TriggerTypeId">;

/** Maximum length of an id or name, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 256;

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

function nameSchema<Name extends string>(what: string, description: string) {
  return z
    .string()
    .min(1)
    .meta({ description })
    .superRefine((name, context) => {
      const problem = nameProblem(name, what);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .transform((name) => name as Branded<Name>);
}

export const functionIdSchema = nameSchema<"FunctionId">("function id", "Function id, e.g. `math::add`");
export const triggerIdSchema = nameSchema<"TriggerId">("trigger id", "Trigger id, a UUID made by the worker");
export const triggerTypeIdSchema = nameSchema<"TriggerTypeId">("trigger type", "Trigger type, e.g. `http`");

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

export const invocationIdSchema = z
  .string()
  .refine(isUuid, { message: "invocation_id must be a UUID" })
  .meta({ description: "Invocation id, a UUID made by the caller" })
  .transform((id) => id as InvocationId);
