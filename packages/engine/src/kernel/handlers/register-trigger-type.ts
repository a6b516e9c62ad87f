import { CallError, type MessageOf, Payload } from "@svc-runtime/protocol";
import type { Quotas } from "../../access/quotas.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { FormatChecks } from "../format-check.ts";
import type { IdOwnership } from "../id-ownership.ts";
import type { Router } from "../router.ts";
import type { Session } from "../session.ts";
import type { Binding, TriggerTypeProvider } from "../triggers/trigger-binding.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";
import { admitTriggerType } from "./admit-registrations.ts";
import { reportFormatProblem } from "./report-format-problem.ts";

export interface TriggerTypePorts {
  readonly triggers: TriggerRegistry;
  readonly ownership: IdOwnership;
  readonly quotas: Quotas;
  readonly formats: FormatChecks;
  readonly changes: DirectoryChanges;
  /** Calls registration hooks. */
  readonly router: Router;
}

/**
 * Registers a worker's trigger type. A type that the engine provides cannot be taken over. If several workers register
 * a type, the latest one serves it.
 */
export function registerTriggerType(
  message: MessageOf<"registertriggertype">,
  session: Session,
  ports: TriggerTypePorts,
): void {
  if (session.access === undefined) addTriggerType(message, session, ports);
  else
    admitTriggerType(message, session.access, session, ports.router, (admitted) =>
      addTriggerType(admitted, session, ports),
    );
}

/** A worker withdraws its own type. The bindings wait until a worker provides the type again. */
export function unregisterTriggerType(
  message: MessageOf<"unregistertriggertype">,
  session: Session,
  { ownership }: { readonly ownership: IdOwnership },
): void {
  const id = session.access?.fullTriggerTypeId(message.id) ?? message.id;
  const hadIt = session.triggerTypes.has(id);
  session.withdrawTriggerType(id);
  if (hadIt) ownership.releaseTriggerType(id, session);
}

/** Returns whether the registration was accepted. */
function addTriggerType(message: MessageOf<"registertriggertype">, session: Session, ports: TriggerTypePorts): boolean {
  const { id } = message;
  const refuse = (problem: string): false => {
    session.warn("a trigger type was refused", { triggerType: id, problem });
    session.sendError(
      new CallError("registration_refused", problem, { details: { message_type: "registertriggertype", id } }),
    );
    return false;
  };
  if (id.startsWith("engine::")) {
    return refuse(`the trigger type ${id} is reserved: ids that begin with engine:: belong to the engine`);
  }
  const current = ports.triggers.typeById(id)?.provider;
  if (current?.builtIn) {
    return refuse(`the trigger type ${id} is reserved: the module ${current.workerName} provides it`);
  }
  if (!session.triggerTypes.has(id)) {
    const problem = ports.quotas.triggerTypes.problemFor(session.triggerTypes.size, session.principal);
    if (problem !== undefined) return refuse(problem);
  }
  // This is the last check, because it may withdraw the type from other connections.
  const dispute = ports.ownership.claimTriggerType(id, session);
  if (dispute !== undefined) return refuse(dispute);
  const check = ports.formats.checkFor({
    format: message.trigger_request_format,
    wanted: message.validate ?? false,
    principal: session.principal,
  });
  reportFormatProblem(check, message, session);
  const provider: TriggerTypeProvider = {
    workerId: session.workerId,
    get workerName() {
      return session.name;
    },
    builtIn: false,
    get isStandby() {
      return session.isStandby;
    },
    principal: session.principal,
    attach: (binding) => {
      const mismatch = check?.isOn()
        ? check.problemOf(Payload.fromValue(binding.config), `the config of a ${id} trigger`)
        : undefined;
      if (mismatch !== undefined)
        throw new CallError("trigger_registration_failed", mismatch.message, { details: mismatch.details });
      return deliverBinding(binding, session);
    },
  };
  const replaced = session.triggerTypes.get(id);
  ports.quotas.triggerTypes.add(session.principal);
  const withdraw = ports.triggers.provideType({
    id,
    description: message.description,
    requestFormat: message.trigger_request_format,
    callRequestFormat: message.call_request_format,
    check,
    provider,
  });
  const undo = session.scope.add(() => {
    withdraw();
    ports.quotas.triggerTypes.release(session.principal);
  });
  session.triggerTypes.set(id, undo);
  replaced?.();
  ports.changes.registered(session.workerId);
  return true;
}

/**
 * Sends the binding to the provider of its type. Returns a function that sends the end of the binding. The engine does
 * nothing else, because the provider calls the function itself.
 */
function deliverBinding(binding: Binding, session: Session): () => void {
  const { id, functionId, config, metadata } = binding;
  const type = session.access?.localTriggerTypeId(binding.type) ?? binding.type;
  session.send({ type: "registertrigger", id, trigger_type: type, function_id: functionId, config, metadata });
  return () => {
    if (!session.scope.ended) session.send({ type: "unregistertrigger", id, trigger_type: type });
  };
}
