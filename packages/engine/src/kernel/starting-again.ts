import { CallError, type FunctionId } from "@svc-runtime/protocol";
import { TRUSTED } from "../access/principal.ts";
import type { Provider } from "./call.ts";
import type { ModuleProvider } from "./module-provider.ts";
import type { Registry } from "./registry.ts";
import type { Undo } from "./scope.ts";

/**
 * Refuses the calls of a module's functions with `draining` while the module is started again, so that callers know
 * that they can repeat a call. Without this, the calls would fail with `function_not_found`.
 */
export function refuseWhileStartingAgain({ name, workerId, functionIds }: ModuleProvider, registry: Registry): Undo {
  const provider: Provider = {
    ...{ workerId, name, builtIn: true, isStandby: false, principal: TRUSTED, inFlight: 0 },
    refusal: () => undefined,
    deliver: () =>
      new CallError("draining", `${name} is starting again on this engine: nothing was done; repeat the call`),
    withdraw: () => {},
    release: () => {},
  };
  const undos = functionIds.flatMap((id) => {
    const description = registry.find(id as FunctionId)?.registrations[0]?.description;
    return description === undefined ? [] : [registry.register(id as FunctionId, provider, description)];
  });
  return () => {
    for (const undo of undos) undo();
  };
}
