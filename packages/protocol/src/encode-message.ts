import type { Message, MessageOf } from "./messages.ts";

/** Encodes a message of plain values. The two messages with payloads have their own functions in `codec.ts`. */
export function encodeMessage(
  message: Exclude<Message, MessageOf<"invokefunction"> | MessageOf<"invocationresult">>,
): string {
  return JSON.stringify(message);
}
