import { CallError, type InvocationId, type UndecodableFrame } from "@svc/protocol";
import type { Session } from "../session.ts";

/**
 * A frame that could not be read still gets an answer: the call it belongs to fails with `invalid_message`, or, when no call can
 * be named, an `error` frame says what was wrong. The connection lives on.
 */
export function undecodable(frame: UndecodableFrame, session: Session): void {
  session.warn("a frame was refused", { messageType: frame.messageType, problem: frame.error.message });
  const { invocationId, functionId } = frame;
  // Only a call is answered by its id, and only one that is not on its way already: a call has one answer.
  if (invocationId !== undefined && frame.messageType === "invokefunction" && !session.made.has(invocationId as InvocationId)) {
    session.answer(invocationId as InvocationId, functionId ?? "", { ok: false, error: frame.error });
    return;
  }
  const held = invocationId === undefined || frame.messageType !== "invocationresult" ? undefined : session.held.get(invocationId as InvocationId);
  if (held !== undefined) {
    session.failHeld(held, new CallError("invalid_message", `the worker's answer cannot be read: ${frame.error.message}`));
    return;
  }
  session.sendError(new CallError(frame.error.code, frame.error.message, { details: { message_type: frame.messageType, id: frame.id } }));
}
