import { CallError, type MessageOf } from "@svc/protocol";
import { admitTriggerType } from "../access/admit-registrations.ts";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";
import type { Binding, TriggerTypeProvider } from "../trigger-binding.ts";

/** A worker offers a trigger type. A type that the engine provides cannot be taken over; one of a worker is replaced. */
export function registerTriggerType(message: MessageOf<"registertriggertype">, session: Session, kernel: Kernel): void {
  if (session.access === undefined) addTriggerType(message, session, kernel);
  else admitTriggerType(message, session.access, session, kernel, (admitted) => addTriggerType(admitted, session, kernel));
}

/** Answers whether it was taken. */
function addTriggerType(message: MessageOf<"registertriggertype">, session: Session, kernel: Kernel): boolean {
  const { id } = message;
  const refuse = (problem: string): false => {
    session.log.warn("a trigger type was refused", { triggerType: id, problem });
    session.sendError(new CallError("registration_refused", problem, { details: { message_type: "registertriggertype", id } }));
    return false;
  };
  const current = kernel.triggers.typeById(id)?.provider;
  if (current?.builtIn) {
    return refuse(`the trigger type ${id} is reserved: the module ${current.workerName} provides it`);
  }
  if (session.principal !== undefined && current !== undefined && current.principal !== session.principal) {
    return refuse(`the trigger type ${id} belongs to another principal`);
  }
  if (!session.triggerTypes.has(id) && session.triggerTypes.size >= kernel.limits.maxTriggerTypes) {
    return refuse(`this connection has ${kernel.limits.maxTriggerTypes} trigger types, which is the limit`);
  }
  const provider: TriggerTypeProvider = {
    workerId: session.workerId,
    get workerName() {
      return session.name;
    },
    builtIn: false,
    principal: session.principal,
    attach: (binding) => deliverBinding(binding, session),
  };
  const replaced = session.triggerTypes.get(id);
  const undo = session.scope.add(
    kernel.triggers.provideType({
      id,
      description: message.description,
      requestFormat: message.trigger_request_format,
      callRequestFormat: message.call_request_format,
      provider,
    }),
  );
  session.triggerTypes.set(id, undo);
  replaced?.();
  return true;
}

/** The provider fires by calling the function itself, so all that the engine does is to tell it of the binding, and of its end. */
function deliverBinding(binding: Binding, session: Session): () => void {
  const { id, functionId, config, metadata } = binding;
  const type = session.access?.localTriggerTypeId(binding.type) ?? binding.type;
  session.send({ type: "registertrigger", id, trigger_type: type, function_id: functionId, config, metadata });
  return () => {
    if (!session.scope.ended) session.send({ type: "unregistertrigger", id, trigger_type: type });
  };
}
