import { isUuid, type WireError } from "@svc-runtime/protocol/client";
import { isObject } from "../is-object.ts";
import { type ControlMessage, isControlType, readControlMessage } from "./control-messages.ts";
import type { MalformedFrame } from "./malformed-frame.ts";

/** A call that the engine sends to this worker. `accepted-call.ts` reads its other members. */
export interface InboundCall {
  readonly type: "invokefunction";
  /** Undefined only for engines that expect no result. */
  readonly invocationId: string | undefined;
  readonly functionId: string;
  /** Members of the message. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Text of the whole frame. */
  readonly frame: string;
}

/** The result of a call that this worker made. */
export interface InboundResult {
  readonly type: "invocationresult";
  readonly invocationId: string;
  readonly result: unknown;
  readonly error: WireError | undefined;
  /** Text of the whole frame, for callers that want the result as JSON text. */
  readonly frame: string;
}

export type Inbound =
  | InboundCall
  | InboundResult
  | ControlMessage
  | { readonly type: "ignored" }
  /** The frame is not JSON. Its end may contain the id of the call to which it belongs. */
  | { readonly type: "not_json"; readonly problem: string; readonly frame: string }
  | { readonly type: "malformed"; readonly problem: string; readonly call: MalformedFrame | undefined };

const ignored = { type: "ignored" } as const;

/** Decodes a frame from the engine. Never throws. Ignores unknown message types, which newer engines may send. */
export function decodeInbound(text: string): Inbound {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    if (text.trim() === "") return ignored;
    return { type: "not_json", problem: (cause as Error).message, frame: text };
  }
  if (!isObject(raw)) return malformed("the frame is not a JSON object");
  const members = raw;
  if (members.type === "invokefunction") return inboundCall(members, text);
  if (members.type === "invocationresult") return inboundResult(members, text);
  if (!isControlType(members.type)) return ignored;
  const message = readControlMessage(members.type, members);
  return typeof message === "string" ? malformed(message) : message;
}

function malformed(problem: string, call?: MalformedFrame): Inbound {
  return { type: "malformed", problem, call };
}

function inboundCall(members: Readonly<Record<string, unknown>>, frame: string): Inbound {
  const invocationId = members.invocation_id ?? undefined;
  const functionId = members.function_id;
  if (invocationId !== undefined && (typeof invocationId !== "string" || !isUuid(invocationId))) {
    return malformed("invokefunction: `invocation_id` is not a UUID");
  }
  if (typeof functionId !== "string") {
    const call =
      invocationId === undefined ? undefined : ({ type: "invokefunction", invocationId, functionId: "" } as const);
    return malformed("invokefunction: `function_id` is not a string", call);
  }
  return { type: "invokefunction", invocationId, functionId, members, frame };
}

function inboundResult(members: Readonly<Record<string, unknown>>, frame: string): Inbound {
  const invocationId = members.invocation_id;
  if (typeof invocationId !== "string") return malformed("invocationresult: `invocation_id` is not a string");
  return {
    type: "invocationresult",
    invocationId,
    result: members.result,
    error: members.error ? wireErrorOf(members.error) : undefined,
    frame,
  };
}

function optionalString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * Reads an error in any form that an engine has ever sent. An error without code and message becomes `UNKNOWN`, as in
 * published clients.
 */
function wireErrorOf(value: unknown): WireError {
  if (isObject(value)) {
    const { code, message, stacktrace, details } = value;
    if (typeof code === "string" && typeof message === "string") {
      return {
        code,
        message,
        stacktrace: optionalString(stacktrace),
        details: isObject(details) ? details : undefined,
      };
    }
  }
  return { code: "UNKNOWN", message: typeof value === "string" ? value : JSON.stringify(value) };
}
