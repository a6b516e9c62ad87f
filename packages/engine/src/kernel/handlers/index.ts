import type { Message, MessageOf, MessageType, UndecodableFrame } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";
import { cancelInvocation } from "./cancel-invocation.ts";
import { invocationResult } from "./invocation-result.ts";
import { invokeFunction } from "./invoke-function.ts";
import { reattach } from "./reattach.ts";
import { registerFunction } from "./register-function.ts";
import { registerTrigger } from "./register-trigger.ts";
import { registerTriggerType } from "./register-trigger-type.ts";
import { triggerRegistrationResult } from "./trigger-registration-result.ts";
import { undecodable } from "./undecodable.ts";
import { unregisterFunction } from "./unregister-function.ts";
import { unregisterTrigger } from "./unregister-trigger.ts";
import { unregisterTriggerType } from "./unregister-trigger-type.ts";

type Handler<Type extends MessageType> = (message: MessageOf<Type>, session: Session, kernel: Kernel) => void;

/** Messages that only the engine sends have no effect when a worker sends them. */
function ignore(message: Message, session: Session): void {
  session.log.debug("a message without effect was ignored", { messageType: message.type });
}

/** One handler for each message type; a missing one is a compile error. */
const handlers: { readonly [Type in MessageType]: Handler<Type> } = {
  registerfunction: registerFunction,
  unregisterfunction: unregisterFunction,
  invokefunction: invokeFunction,
  invocationresult: invocationResult,
  cancelinvocation: cancelInvocation,
  registertriggertype: registerTriggerType,
  unregistertriggertype: unregisterTriggerType,
  registertrigger: registerTrigger,
  unregistertrigger: unregisterTrigger,
  triggerregistrationresult: triggerRegistrationResult,
  reattach,
  ping: (_message, session) => session.send({ type: "pong" }),
  pong: ignore,
  registerservice: ignore,
  workerregistered: ignore,
  error: ignore,
};

export function dispatch(message: Message | UndecodableFrame, session: Session, kernel: Kernel): void {
  if (message.type === "undecodable") {
    undecodable(message, session);
    return;
  }
  // The table pairs each type with its handler; the compiler cannot infer that through an index.
  (handlers[message.type] as Handler<MessageType>)(message, session, kernel);
}
