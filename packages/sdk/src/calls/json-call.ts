import { CallError } from "@svc-runtime/protocol/client";
import type { CallOptions, FunctionChoice } from "./call-request.ts";

// Calls with payload and result as JSON text: parsing and rewriting the text would round long numbers.

/** Function to call and its payload as JSON text. */
export type JsonCallRequest = CallOptions &
  FunctionChoice & {
    /** JSON text, sent unchanged. Default `null`. */
    readonly payload?: string | undefined;
  };

/** A payload as JSON text. The call then resolves to the frame with its result. */
export class JsonPayload {
  readonly text: string;

  /**
   * @throws CallError `invalid_input` if the text is not JSON.
   */
  constructor(text: string, functionId: string) {
    try {
      JSON.parse(text);
    } catch (cause) {
      throw new CallError(
        "invalid_input",
        `the payload for function ${functionId} is not JSON: ${(cause as Error).message}`,
        { cause },
      );
    }
    this.text = text;
  }
}
