import { CallError } from "@svc/protocol";
import type { CallOptions } from "./calls.ts";

// Calls whose payload and result are JSON text: reading the text into values and writing it again would round long numbers.

/** Whom to call with which JSON text. */
export interface JsonCallRequest extends CallOptions {
  readonly function_id: string;
  /** JSON text, sent as it is. Default `null`. */
  readonly payload?: string | undefined;
}

/** JSON text as the payload of a call, which then wants the text of its result. */
export class JsonPayload {
  readonly text: string;

  /** Throws CallError `invalid_input` when the text is not JSON. */
  constructor(text: string, functionId: string) {
    try {
      JSON.parse(text);
    } catch (cause) {
      throw new CallError("invalid_input", `the payload for function ${functionId} is not JSON: ${(cause as Error).message}`, { cause });
    }
    this.text = text;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** The JSON text of a member of an object; of the last one where the name comes twice, as JSON.parse has it. `object` must be an object's JSON. */
export function memberText(object: string, name: string): string | undefined {
  let found: string | undefined;
  let depth = 0;
  /** Of the present member: its name, and where its value begins. */
  let key = "";
  let valueAt = 0;
  /** Where the last string at depth 1 began; a colon there makes a name of it. */
  let stringAt = 0;
  for (let at = 0; at < object.length; at++) {
    const char = object.charCodeAt(at);
    if (char === QUOTE) {
      if (depth === 1) stringAt = at;
      at = endOfString(object, at);
    } else if (depth === 1 && char === COLON) {
      key = JSON.parse(object.slice(stringAt, at)) as string;
      valueAt = at + 1;
    } else {
      const isClosing = char === 0x5d || char === 0x7d;
      if (depth === 1 && (char === COMMA || isClosing) && key === name && valueAt > 0) found = object.slice(valueAt, at).trim();
      if (char === 0x5b || char === 0x7b) depth += 1;
      else if (isClosing) depth -= 1;
    }
  }
  return found;
}

/** Where the string that begins at `start` has its closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== QUOTE && at < text.length) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
