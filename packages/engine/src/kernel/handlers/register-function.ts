import { CallError, type FunctionId, type MessageOf } from "@svc/protocol";
import type { Provider } from "../call.ts";
import { DelegatedProvider } from "../delegated-provider.ts";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";
import { settlePrincipal } from "../settle-principal.ts";
import { admitFunction } from "./admit-registrations.ts";
import { reportFormatProblem } from "./report-format-problem.ts";

/** The only engine id that a worker may register: a queue provides it. */
const OPEN_ENGINE_ID = "engine::queue::enqueue";

/** A worker registers a function. Registering the same id again on the same connection replaces it. */
export function registerFunction(message: MessageOf<"registerfunction">, session: Session, kernel: Kernel): void {
  if (session.access === undefined) addFunction(message, session, kernel);
  else admitFunction(message, session.access, session, kernel, (admitted) => addFunction(admitted, session, kernel));
}

/** Returns whether the registration was accepted. */
function addFunction(message: MessageOf<"registerfunction">, session: Session, kernel: Kernel): boolean {
  const { id } = message;
  const provider = providerOf(message, session, kernel);
  if (CallError.is(provider)) {
    session.warn("a function was refused", { functionId: id, code: provider.code, problem: provider.message });
    session.sendError(
      new CallError(provider.code, provider.message, {
        details: { ...provider.details, message_type: "registerfunction", id },
      }),
    );
    return false;
  }
  const check = kernel.formats.checkFor({
    format: message.request_format,
    wanted: message.validate,
    principal: session.principal,
  });
  reportFormatProblem(check, message, session);
  const replaced = session.functions.get(id);
  const undo = session.scope.add(
    kernel.registry.register(id, provider, {
      description: message.description,
      requestFormat: message.request_format,
      responseFormat: message.response_format,
      metadata: message.metadata,
      timeoutMs: message.timeout_ms,
      check,
    }),
  );
  session.functions.set(id, undo);
  // After the new registration, so that the function never disappears in between.
  replaced?.();
  kernel.changes.registered(session.workerId);
  return true;
}

/**
 * Returns the provider that runs the function: the worker itself, or a module on its behalf. Returns a CallError if the
 * registration is refused.
 */
function providerOf(
  { id, invocation }: MessageOf<"registerfunction">,
  session: Session,
  kernel: Kernel,
): Provider | CallError {
  const problem = refusal(id, session, kernel);
  if (problem !== undefined) return new CallError("registration_refused", problem);
  const provider = invocation === undefined ? session : delegated(id, invocation, session, kernel);
  if (CallError.is(provider)) return provider;
  // Last, since it may withdraw the id from other connections.
  const dispute = settlePrincipal(id, session, kernel);
  return dispute === undefined ? provider : new CallError("registration_refused", dispute);
}

function delegated(id: FunctionId, invocation: unknown, session: Session, kernel: Kernel): Provider | CallError {
  const { router, limits, invocations, sessions } = kernel;
  try {
    const run = invocations.accept(id, invocation, { principal: session.principal });
    return new DelegatedProvider({ session, sessions, run, router, maxCallsHeld: limits.maxCallsHeld });
  } catch (thrown) {
    return CallError.from(thrown);
  }
}

function refusal(id: FunctionId, session: Session, kernel: Kernel): string | undefined {
  if (id.startsWith("engine::") && id !== OPEN_ENGINE_ID)
    return `${id} is reserved: ids that begin with engine:: belong to the engine`;
  const entry = kernel.registry.find(id);
  if (entry?.registrations.some((registration) => registration.provider.builtIn))
    return `${id} is reserved: the module ${entry.registrations[0]?.provider.name} provides it`;
  if (session.functions.has(id)) return undefined;
  const { maxFunctions } = kernel.limits;
  if (session.functions.size >= maxFunctions)
    return `this connection has ${maxFunctions} functions, which is the limit`;
  return kernel.quotas.functions.problemOf(session.principal);
}
