import { CallError, type InvocationId, type UndecodableFrame } from "@svc-runtime/protocol";
import type { Session } from "../session.ts";

/**
 * Handles a frame that cannot be decoded. Its call fails with `invalid_message`; if it names no call, an `error` frame
 * describes the problem. The connection stays open.
 */
export function undecodable(frame: UndecodableFrame, session: Session): void {
  session.warn("a frame was refused", { messageType: frame.messageType, problem: frame.error.message });
  const { invocationId, functionId } = frame;
  // Only a call has a result, and only one: the id must not be that of a call in flight.
  if (
    invocationId !== undefined &&
    frame.messageType === "invokefunction" &&
    !session.made.has(invocationId as InvocationId)
  ) {
    session.answer(invocationId as InvocationId, functionId ?? "", { ok: false, error: frame.error });
    return;
  }
  const held =
    invocationId === undefined || frame.messageType !== "invocationresult"
      ? undefined
      : session.held.get(invocationId as InvocationId);
  if (held !== undefined) {
    session.failHeld(
      held,
      new CallError("invalid_message", `the worker's answer cannot be read: ${frame.error.message}`),
    );
    return;
  }
  session.sendError(
    new CallError(frame.error.code, frame.error.message, {
      details: { message_type: frame.messageType, id: frame.id },
    }),
  );
}
