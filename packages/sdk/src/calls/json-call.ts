import { CallError } from "@svc-runtime/protocol/client";
import type { CallOptions, FunctionChoice } from "./call-request.ts";

// Calls whose payload and result stay JSON text. Parsing the text and writing it again would round long numbers.

/** Function to call and its payload as JSON text. */
export type JsonCallRequest = CallOptions &
  FunctionChoice & {
    /** JSON text, sent unchanged. Default `null`. */
    readonly payload?: string | undefined;
  };

/** A payload as JSON text. A call with it resolves to the frame that contains the result. */
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
