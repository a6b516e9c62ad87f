import { CallError, type InvocationId, type UndecodableFrame } from "@svc-runtime/protocol";
import type { Session } from "../session.ts";

/**
 * Handles a frame that cannot be decoded. If the frame names a call, the call fails with `invalid_message`. If it does
 * not, an `error` frame describes the problem. The connection stays open.
 */
export function undecodable(frame: UndecodableFrame, session: Session): void {
  session.warn("a frame was refused", { messageType: frame.messageType, problem: frame.error.message });
  const { invocationId, functionId } = frame;
  // A result is sent only for a call, and only if no other call in flight has the id, because a call has one result.
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
      new CallError("invalid_message", `the worker's answer cannot be read: ${frame.error.message}`, {
        details: { executed: "yes" },
      }),
    );
    return;
  }
  session.sendError(
    new CallError(frame.error.code, frame.error.message, {
      details: { message_type: frame.messageType, id: frame.id },
    }),
  );
}
