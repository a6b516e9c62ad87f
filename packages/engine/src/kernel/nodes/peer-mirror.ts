import type { TriggerTypeId } from "@svc-runtime/protocol";
import { type MirrorEntry, mirrorChangesSchema, type NodeFrameOf } from "@svc-runtime/protocol/nodes";
import { TRUSTED } from "../../access/principal.ts";
import type { WorkerView } from "../directory.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { IdOwnership } from "../id-ownership.ts";
import type { Registry } from "../registry.ts";
import { Scope, type Undo } from "../scope.ts";
import { jsonOf } from "./call-payloads.ts";
import type { OutgoingCalls } from "./outgoing-calls.ts";
import type { Peer } from "./peer.ts";
import { type RemoteBindingPorts, RemoteBindings } from "./remote-bindings.ts";
import { RemoteProvider } from "./remote-provider.ts";
import { noteBound, remoteTypeProvider } from "./remote-types.ts";

/** Maximum number of entries of one peer, and of bytes in which they arrived. */
const MAX_ENTRIES = 200_000;
const MAX_BYTES = 256 * 1024 * 1024;

type Entry<Kind extends MirrorEntry["kind"]> = Extract<MirrorEntry, { readonly kind: Kind }>;

export interface PeerMirrorPorts extends RemoteBindingPorts {
  readonly registry: Registry;
  readonly ownership: IdOwnership;
  readonly changes: DirectoryChanges;
}

interface Known {
  readonly entry: MirrorEntry;
  readonly undo: Undo;
}

/** Connects what is trusted at the peer with the rules for ids at this node. */
const REGISTRAR = { principal: TRUSTED, access: undefined };

/** What one peer's workers registered, as registrations of this node. They end with the peer. */
export class PeerMirror {
  readonly #ports: PeerMirrorPorts;
  readonly #calls: OutgoingCalls;
  readonly #scope = new Scope();
  readonly #bindings: RemoteBindings;
  readonly #entries = new Map<string, Known>();
  readonly #providers = new Map<string, RemoteProvider>();
  #bytes = 0;

  constructor(peer: Peer, calls: OutgoingCalls, ports: PeerMirrorPorts) {
    this.#ports = ports;
    this.#calls = calls;
    this.#bindings = new RemoteBindings(peer, ports, (workerId) => this.#providers.get(workerId)?.name ?? "");
  }

  /** Applies a `mirror` frame. Throws an Error with a sentence if the peer breaks the protocol. */
  apply(payload: Uint8Array): void {
    const changes = mirrorChangesSchema.safeParse(jsonOf(payload));
    if (!changes.success) throw new Error("the changes of its mirror are malformed");
    this.#bytes += payload.length;
    for (const key of changes.data.removed) this.#remove(key);
    for (const { key, entry } of changes.data.set) {
      const replaced = this.#entries.get(key);
      if (replaced !== undefined && replaced.entry.kind !== entry.kind)
        throw new Error(`it changed the kind of ${key}`);
      const undo = this.#add(entry, replaced);
      this.#entries.set(key, { entry, undo: undo === replaced?.undo ? undo : this.#scope.add(undo) });
      // After the new registration, so that nothing disappears in between.
      if (undo !== replaced?.undo) replaced?.undo();
    }
    // Bytes of replaced entries are counted until the entries are few again: the exact sum would cost more.
    if (this.#entries.size === 0) this.#bytes = 0;
    if (this.#entries.size > MAX_ENTRIES || (this.#bytes > MAX_BYTES && this.#measure() > MAX_BYTES))
      throw new Error(`its mirror has more than ${MAX_ENTRIES} entries or ${MAX_BYTES} bytes`);
  }

  /** A worker of the peer has responded to a trigger of this node. */
  bound(frame: NodeFrameOf<"bound">): void {
    noteBound(frame, this.#calls.run, this.#ports.triggers);
  }

  typeChanged(id: TriggerTypeId): void {
    this.#bindings.typeChanged(id);
  }

  /** Undoes all registrations. */
  end(): void {
    this.#bindings.end();
    this.#scope.end();
    this.#entries.clear();
  }

  workers(): WorkerView[] {
    const functions = new Map<string, string[]>();
    const types = new Map<string, string[]>();
    const triggers = new Map<string, number>();
    const workers: Entry<"worker">[] = [];
    for (const { entry } of this.#entries.values()) {
      if (entry.kind === "worker") workers.push(entry);
      else if (entry.kind === "trigger") triggers.set(entry.worker_id, (triggers.get(entry.worker_id) ?? 0) + 1);
      else listOf(entry.kind === "function" ? functions : types, entry.worker_id).push(entry.id);
    }
    return workers.map((worker) => {
      const own = listOf(functions, worker.worker_id).sort();
      return {
        id: worker.worker_id,
        name: worker.name === "" ? worker.worker_id : worker.name,
        description: worker.description ?? null,
        runtime: worker.runtime,
        version: worker.version ?? null,
        os: worker.os ?? null,
        ip_address: worker.ip_address ?? null,
        pid: worker.pid ?? null,
        isolation: worker.isolation ?? null,
        features: worker.features,
        kind: worker.worker_kind,
        internal: worker.worker_kind !== "worker",
        status: "connected",
        connected_at_ms: worker.connected_at_ms,
        function_count: own.length,
        functions: own,
        trigger_types: listOf(types, worker.worker_id).sort(),
        trigger_count: triggers.get(worker.worker_id) ?? 0,
        // Only calls from this node are known.
        active_invocations: 0,
        principal: null,
        configured_worker: worker.configured_worker ?? null,
      };
    });
  }

  /** Returns the undo of what the entry replaces if that is only changed. */
  #add(entry: MirrorEntry, replaced: Known | undefined): Undo {
    if (entry.kind === "worker") return this.#addWorker(entry, replaced);
    if (entry.kind === "function") return this.#addFunction(entry);
    if (entry.kind === "trigger_type") return this.#addType(entry);
    this.#bindings.set(entry);
    // Not undone at the peer's end, when `RemoteBindings` keeps it for a while.
    return replaced?.undo ?? (() => {});
  }

  #addWorker({ worker_id: id, name }: Entry<"worker">, replaced: Known | undefined): Undo {
    const { changes } = this.#ports;
    const provider = this.#providerOf(id);
    provider.name = name;
    changes.emit({ kind: "worker", id, op: replaced === undefined ? "created" : "updated" });
    return replaced?.undo ?? (() => changes.emit({ kind: "worker", id, op: "removed" }));
  }

  #addFunction(entry: Entry<"function">): Undo {
    const { registry, ownership } = this.#ports;
    // Withdraws the id from restricted connections of this node, as a trusted worker here would.
    ownership.claimFunction(entry.id, REGISTRAR);
    return registry.register(entry.id, this.#providerOf(entry.worker_id), {
      description: entry.description,
      requestFormat: entry.request_format,
      responseFormat: entry.response_format,
      metadata: entry.metadata,
      timeoutMs: entry.timeout_ms,
      // The worker's node checks payloads.
      check: undefined,
    });
  }

  #addType(entry: Entry<"trigger_type">): Undo {
    const { triggers, ownership } = this.#ports;
    ownership.claimTriggerType(entry.id, REGISTRAR);
    return triggers.provideType({
      id: entry.id,
      description: entry.description,
      requestFormat: entry.trigger_request_format,
      callRequestFormat: entry.call_request_format,
      check: undefined,
      provider: remoteTypeProvider(this.#providerOf(entry.worker_id)),
    });
  }

  #remove(key: string): void {
    const known = this.#entries.get(key);
    if (known === undefined) return;
    this.#entries.delete(key);
    if (known.entry.kind === "trigger") this.#bindings.remove(known.entry.id);
    if (known.entry.kind === "worker") this.#providers.delete(known.entry.worker_id);
    known.undo();
  }

  #providerOf(workerId: string): RemoteProvider {
    const known = this.#providers.get(workerId);
    if (known !== undefined) return known;
    const provider = new RemoteProvider(workerId, this.#calls);
    this.#providers.set(workerId, provider);
    return provider;
  }

  /** Returns the size of all entries, and counts on from there. */
  #measure(): number {
    this.#bytes = 0;
    for (const { entry } of this.#entries.values()) this.#bytes += JSON.stringify(entry).length;
    return this.#bytes;
  }
}

function listOf(lists: Map<string, string[]>, name: string): string[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}
