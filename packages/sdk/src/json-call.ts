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
