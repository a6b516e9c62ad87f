import type { Message, MessageOf, MessageType, UndecodableFrame } from "@svc-runtime/protocol";
import type { Session } from "../session.ts";
import type { Sessions } from "../sessions.ts";
import { invocationResult } from "./invocation-result.ts";
import { type CallPorts, invokeFunction } from "./invoke-function.ts";
import { reattach } from "./reattach.ts";
import { type FunctionPorts, registerFunction, unregisterFunction } from "./register-function.ts";
import { registerTrigger, type TriggerPorts } from "./register-trigger.ts";
import { registerTriggerType, type TriggerTypePorts, unregisterTriggerType } from "./register-trigger-type.ts";
import { triggerRegistrationResult } from "./trigger-registration-result.ts";
import { undecodable } from "./undecodable.ts";

/** The parts of the kernel that the handlers use. Each handler declares the parts that it needs. */
export interface HandlerPorts extends CallPorts, FunctionPorts, TriggerTypePorts, TriggerPorts {
  readonly sessions: Sessions;
}

type Handler<Type extends MessageType> = (message: MessageOf<Type>, session: Session, ports: HandlerPorts) => void;

/** Handles messages that have no effect when a worker sends them, for example messages that only the engine sends. */
function ignore(message: Message, session: Session): void {
  session.log.debug("a message without effect was ignored", { messageType: message.type });
}

/** One handler for each message type; a missing one is a compile error. */
const handlers: { readonly [Type in MessageType]: Handler<Type> } = {
  registerfunction: registerFunction,
  unregisterfunction: unregisterFunction,
  invokefunction: invokeFunction,
  invocationresult: invocationResult,
  cancelinvocation({ invocation_id: id, reason }, session, { router }) {
    const call = session.made.get(id);
    if (call !== undefined) router.cancel(call, reason ?? "the caller withdrew it");
  },
  registertriggertype: registerTriggerType,
  unregistertriggertype: unregisterTriggerType,
  registertrigger: registerTrigger,
  unregistertrigger: ({ id }, session) => session.removeTrigger(id),
  triggerregistrationresult: triggerRegistrationResult,
  reattach,
  ping: (_message, session) => session.send({ type: "pong" }),
  pong: ignore,
  registerservice: ignore,
  workerregistered: ignore,
  draining: ignore,
  error: ignore,
};

/** Returns the function that handles the messages of all connections. */
export function createDispatch(ports: HandlerPorts): (message: Message | UndecodableFrame, session: Session) => void {
  return (message, session) => {
    // The table pairs each type with its handler; the compiler cannot infer that through an index.
    if (message.type !== "undecodable") (handlers[message.type] as Handler<MessageType>)(message, session, ports);
    else undecodable(message, session);
  };
}
