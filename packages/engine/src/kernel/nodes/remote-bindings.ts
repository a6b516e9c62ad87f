import type { TriggerTypeId } from "@svc-runtime/protocol";
import type { MirrorEntry } from "@svc-runtime/protocol/nodes";
import { TRUSTED } from "../../access/principal.ts";
import { bindingKey, type TriggerOwner, type TriggerRequest, type TriggerState } from "../triggers/trigger-binding.ts";
import type { BindingHold, TriggerRegistry } from "../triggers/trigger-registry.ts";
import type { Peer } from "./peer.ts";

type TriggerEntry = Extract<MirrorEntry, { readonly kind: "trigger" }>;

export interface RemoteBindingPorts {
  readonly triggers: TriggerRegistry;
  /** The run of this node. */
  readonly self: string;
}

interface MirroredTrigger {
  entry: TriggerEntry;
  hold: BindingHold | undefined;
}

/**
 * Triggers of the workers of one peer. This node binds such a trigger in two cases: its type is bound on every node,
 * e.g. `http`; or a worker of this node provides the type and the peer has chosen that worker. In the second case, the
 * trigger is passed to the worker.
 */
export class RemoteBindings {
  readonly #peer: Peer;
  readonly #ports: RemoteBindingPorts;
  readonly #nameOf: (workerId: string) => string;
  readonly #triggers = new Map<string, MirroredTrigger>();

  constructor(peer: Peer, ports: RemoteBindingPorts, nameOf: (workerId: string) => string) {
    this.#peer = peer;
    this.#ports = ports;
    this.#nameOf = nameOf;
  }

  set(entry: TriggerEntry): void {
    const known = this.#triggers.get(entry.id);
    if (known === undefined) {
      const added = { entry, hold: undefined };
      this.#triggers.set(entry.id, added);
      this.#bind(added);
      return;
    }
    const isOther = bindingKey(requestOf(known.entry)) !== bindingKey(requestOf(entry));
    known.entry = entry;
    if (isOther || !this.#isServedHere(entry)) unbind(known, "remove");
    if (entry.is_away) unbind(known, "leave");
    else this.#bind(known);
  }

  remove(id: string): void {
    const known = this.#triggers.get(id);
    this.#triggers.delete(id);
    if (known !== undefined) unbind(known, "remove");
  }

  /** Call when providers of the type have changed. */
  typeChanged(id: TriggerTypeId): void {
    for (const known of this.#triggers.values()) {
      if (known.entry.trigger_type !== id) continue;
      if (!this.#isServedHere(known.entry)) unbind(known, "remove");
      else if (known.hold === undefined) this.#bind(known);
    }
  }

  /** Handles a peer that is gone and may come back: its triggers are kept like those of a worker that disconnected. */
  end(): void {
    for (const known of this.#triggers.values()) unbind(known, "leave");
    this.#triggers.clear();
  }

  #isServedHere({ trigger_type: type, served_by: run }: TriggerEntry): boolean {
    const provider = this.#ports.triggers.typeById(type)?.provider;
    if (provider === undefined || provider.remote !== undefined) return false;
    return provider.builtIn ? provider.onEveryNode === true : run === this.#ports.self;
  }

  #bind(known: MirroredTrigger): void {
    const { entry } = known;
    if (entry.is_away || !this.#isServedHere(entry)) return;
    const nameOf = this.#nameOf;
    const owner: TriggerOwner = {
      workerId: entry.worker_id,
      get name() {
        return nameOf(entry.worker_id);
      },
      principal: TRUSTED,
      isRemote: true,
      ignoresUnknown: entry.ignores_unknown,
      notify: (_request, state) => this.#notify(entry, state),
    };
    known.hold = this.#ports.triggers.register(owner, requestOf(entry));
  }

  /**
   * Sends the result to the peer if a worker of this node serves the trigger, because the trigger's worker waits for
   * it.
   */
  #notify({ id, trigger_type, served_by: run }: TriggerEntry, { status, reason }: TriggerState): void {
    if (run !== this.#ports.self) return;
    const problem = status === "error" ? { problem: (reason ?? "the trigger does not work").slice(0, 4096) } : {};
    this.#peer.send({ type: "bound", trigger_type, id, ...problem });
  }
}

function unbind(known: MirroredTrigger, how: "remove" | "leave"): void {
  const { hold } = known;
  known.hold = undefined;
  if (how === "remove") hold?.remove();
  else hold?.leave();
}

function requestOf({
  id,
  trigger_type: type,
  function_id: functionId,
  config,
  metadata,
}: TriggerEntry): TriggerRequest {
  return { id, type, functionId, config: config ?? null, metadata };
}
