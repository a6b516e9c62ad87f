import { CallError, type FunctionId, type MessageOf } from "@svc-runtime/protocol";
import type { Quotas } from "../../access/quotas.ts";
import type { Provider } from "../call.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { ExternalFunctions } from "../external-functions.ts";
import type { FormatChecks } from "../format-check.ts";
import type { IdOwnership } from "../id-ownership.ts";
import type { Registry } from "../registry.ts";
import type { Session } from "../session.ts";
import { type AdmitFunctionPorts, admitFunction } from "./admit-registrations.ts";
import { reportFormatProblem } from "./report-format-problem.ts";
import { reportSharedFunction } from "./report-shared-function.ts";

/** The only id that begins with `engine::` and that a worker may register, so that a worker can implement queues. */
const OPEN_ENGINE_ID = "engine::queue::enqueue";

interface ProviderPorts {
  readonly registry: Registry;
  readonly ownership: IdOwnership;
  readonly externalFunctions: ExternalFunctions;
  readonly quotas: Quotas;
}

export interface FunctionPorts extends ProviderPorts, AdmitFunctionPorts {
  readonly formats: FormatChecks;
  readonly changes: DirectoryChanges;
}

/** A worker registers a function. Registering the same id again on the same connection replaces it. */
export function registerFunction(message: MessageOf<"registerfunction">, session: Session, ports: FunctionPorts): void {
  if (session.access === undefined) addFunction(message, session, ports);
  else admitFunction(message, session.access, session, ports, (admitted) => addFunction(admitted, session, ports));
}

/** A worker withdraws its own registration. In-flight calls continue. */
export function unregisterFunction(
  message: MessageOf<"unregisterfunction">,
  session: Session,
  { ownership }: { readonly ownership: IdOwnership },
): void {
  const id = session.access?.fullFunctionId(message.id) ?? message.id;
  const hadIt = session.functions.has(id);
  session.withdrawFunction(id);
  if (hadIt) ownership.releaseFunction(id, session);
}

/** Returns whether the registration was accepted. */
function addFunction(message: MessageOf<"registerfunction">, session: Session, ports: FunctionPorts): boolean {
  const { id } = message;
  const provider = providerOf(message, session, ports);
  if (CallError.is(provider)) {
    session.warn("a function was refused", { functionId: id, code: provider.code, problem: provider.message });
    session.sendError(
      new CallError(provider.code, provider.message, {
        details: { ...provider.details, message_type: "registerfunction", id },
      }),
    );
    return false;
  }
  const check = ports.formats.checkFor({
    format: message.request_format,
    wanted: message.validate,
    principal: session.principal,
  });
  reportFormatProblem(check, message, session);
  const replaced = session.functions.get(id);
  const undo = session.scope.add(
    ports.registry.register(id, provider, {
      description: message.description,
      requestFormat: message.request_format,
      responseFormat: message.response_format,
      metadata: message.metadata,
      timeoutMs: message.timeout_ms,
      check,
    }),
  );
  session.functions.set(id, undo);
  // The old registration is removed after the new one is added, so that the function never disappears in between.
  replaced?.();
  if (replaced === undefined) reportSharedFunction(id, session, ports.registry);
  ports.changes.registered(session.workerId);
  return true;
}

/**
 * Returns the provider that runs the function: the worker itself, or a module on its behalf. Returns a CallError if the
 * registration is refused.
 */
function providerOf(
  { id, invocation }: MessageOf<"registerfunction">,
  session: Session,
  ports: ProviderPorts,
): Provider | CallError {
  const problem = refusal(id, session, ports);
  if (problem !== undefined) return new CallError("registration_refused", problem);
  const provider = invocation === undefined ? session : delegated(id, invocation, session, ports.externalFunctions);
  if (CallError.is(provider)) return provider;
  // This is the last check, because it may withdraw the id from other connections.
  const dispute = ports.ownership.claimFunction(id, session);
  return dispute === undefined ? provider : new CallError("registration_refused", dispute);
}

function delegated(
  id: FunctionId,
  invocation: unknown,
  session: Session,
  externalFunctions: ExternalFunctions,
): Provider | CallError {
  try {
    return externalFunctions.providerOf(id, invocation, session);
  } catch (thrown) {
    return CallError.from(thrown);
  }
}

function refusal(id: FunctionId, session: Session, { registry, quotas }: ProviderPorts): string | undefined {
  if (id.startsWith("engine::") && id !== OPEN_ENGINE_ID)
    return `${id} is reserved: ids that begin with engine:: belong to the engine`;
  const entry = registry.find(id);
  if (entry?.registrations.some((registration) => registration.provider.builtIn))
    return `${id} is reserved: the module ${entry.registrations[0]?.provider.name} provides it`;
  if (session.functions.has(id)) return undefined;
  return quotas.functions.problemFor(session.functions.size, session.principal);
}
