import { CallError } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import { TRUSTED } from "../../access/principal.ts";
import type { TriggerTypeProvider } from "../triggers/trigger-binding.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";
import type { RemoteProvider } from "./remote-provider.ts";

/**
 * Returns a peer's worker as a provider of its trigger type. Nothing is sent when a trigger is attached: the peer reads
 * in the mirror of this node that its worker serves it, and reports the worker's response.
 */
export function remoteTypeProvider(worker: RemoteProvider): TriggerTypeProvider {
  return {
    workerId: worker.workerId,
    get workerName() {
      return worker.name;
    },
    builtIn: false,
    remote: worker.remote,
    principal: TRUSTED,
    attach(binding) {
      if (binding.isRestricted)
        throw new CallError(
          "trigger_registration_failed",
          `a worker of another node provides the trigger type ${binding.type}; it does not receive bindings of restricted connections`,
        );
      return () => {};
    },
  };
}

/** Records the response of a peer's worker to a trigger of this node. Late ones have no effect. */
export function noteBound(
  { id, trigger_type: type, problem }: NodeFrameOf<"bound">,
  run: string,
  triggers: TriggerRegistry,
): void {
  const binding = triggers.bindingById(id);
  const provider = triggers.typeById(type)?.provider;
  if (binding?.type === type && binding.id === id && provider?.remote?.run === run) triggers.answered(binding, problem);
}
