import { CallError } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import { TRUSTED } from "../../access/principal.ts";
import type { TriggerTypeProvider } from "../triggers/trigger-binding.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";
import type { RemoteProvider } from "./remote-provider.ts";

/**
 * Returns a peer's worker as a provider of its trigger type. Attaching a trigger sends nothing, because the peer gets
 * the trigger through the `Mirror` of this node and sees there that its worker serves it. The peer then reports the
 * worker's response.
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

/** Records the response of a peer's worker to a trigger of this node. A late response has no effect. */
export function noteBound(
  { id, trigger_type: type, problem }: NodeFrameOf<"bound">,
  run: string,
  triggers: TriggerRegistry,
): void {
  const binding = triggers.bindingById(id);
  const provider = triggers.typeById(type)?.provider;
  if (binding?.type === type && binding.id === id && provider?.remote?.run === run) triggers.answered(binding, problem);
}
