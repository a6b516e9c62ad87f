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

/** Maximum number and maximum total size of the entries of one peer. */
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

/** A worker of the peer and its registrations. */
interface MirroredWorker {
  /** Undefined while the peer has reported registrations of the worker, but not the worker itself. */
  entry: Entry<"worker"> | undefined;
  readonly functions: Set<string>;
  readonly types: Set<string>;
  triggers: number;
}

/**
 * Registers ids at `IdOwnership` for a peer. It is trusted, because peers send only registrations of trusted workers.
 */
const REGISTRAR = { principal: TRUSTED, access: undefined };

/** Adds the registrations of one peer's workers to the registries of this node, until the peer is gone. */
export class PeerMirror {
  readonly #ports: PeerMirrorPorts;
  readonly #calls: OutgoingCalls;
  readonly #scope = new Scope();
  readonly #bindings: RemoteBindings;
  readonly #entries = new Map<string, Known>();
  readonly #providers = new Map<string, RemoteProvider>();
  readonly #workers = new Map<string, MirroredWorker>();
  #bytes = 0;

  constructor(peer: Peer, calls: OutgoingCalls, ports: PeerMirrorPorts) {
    this.#ports = ports;
    this.#calls = calls;
    this.#bindings = new RemoteBindings(peer, ports, (workerId) => this.#providers.get(workerId)?.name ?? "");
  }

  /** Applies a `mirror` frame. Throws an Error if the peer violates the protocol. */
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
      if (replaced !== undefined) this.#noteOfWorker(replaced.entry, false);
      this.#noteOfWorker(entry, true);
      // The old registration is undone after the new one is added, so that the function never disappears in between.
      if (undo !== replaced?.undo) replaced?.undo();
    }
    // `#bytes` includes replaced entries, because the exact sum would cost more. So the entries are measured exactly
    // when it exceeds the limit.
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
    this.#workers.clear();
  }

  workers(): WorkerView[] {
    return [...this.#workers.values()].flatMap((worker) => viewOf(worker) ?? []);
  }

  workerById(id: string): WorkerView | undefined {
    const worker = this.#workers.get(id);
    return worker && viewOf(worker);
  }

  #noteOfWorker(entry: MirrorEntry, isThere: boolean): void {
    const id = entry.worker_id;
    const worker = this.#workers.get(id) ?? { entry: undefined, functions: new Set(), types: new Set(), triggers: 0 };
    this.#workers.set(id, worker);
    if (entry.kind === "worker") worker.entry = isThere ? entry : undefined;
    else if (entry.kind === "trigger") worker.triggers += isThere ? 1 : -1;
    else {
      const ids = entry.kind === "function" ? worker.functions : worker.types;
      if (isThere) ids.add(entry.id);
      else ids.delete(entry.id);
    }
    const { functions, types, triggers } = worker;
    if (worker.entry === undefined && functions.size + types.size + triggers === 0) this.#workers.delete(id);
  }

  /** Registers the entry. Returns the undo of the replaced entry if that registration was only updated. */
  #add(entry: MirrorEntry, replaced: Known | undefined): Undo {
    if (entry.kind === "worker") return this.#addWorker(entry, replaced);
    if (entry.kind === "function") return this.#addFunction(entry);
    if (entry.kind === "trigger_type") return this.#addType(entry);
    this.#bindings.set(entry);
    // There is no undo, because `RemoteBindings` keeps the binding for a while when the peer is gone.
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
    this.#noteOfWorker(known.entry, false);
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

  /** Sets `#bytes` to the exact size of all entries and returns it. */
  #measure(): number {
    this.#bytes = 0;
    for (const { entry } of this.#entries.values()) this.#bytes += JSON.stringify(entry).length;
    return this.#bytes;
  }
}

function viewOf({ entry, functions, types, triggers }: MirroredWorker): WorkerView | undefined {
  if (entry === undefined) return undefined;
  return {
    id: entry.worker_id,
    name: entry.name === "" ? entry.worker_id : entry.name,
    description: entry.description ?? null,
    runtime: entry.runtime,
    version: entry.version ?? null,
    os: entry.os ?? null,
    ip_address: entry.ip_address ?? null,
    pid: entry.pid ?? null,
    isolation: entry.isolation ?? null,
    features: entry.features,
    kind: entry.worker_kind,
    internal: entry.worker_kind !== "worker",
    status: "connected",
    connected_at_ms: entry.connected_at_ms,
    function_count: functions.size,
    functions: [...functions].sort(),
    trigger_types: [...types].sort(),
    trigger_count: triggers,
    // This number is unknown: the peer does not report which of its workers runs which call.
    active_invocations: 0,
    principal: null,
    configured_worker: entry.configured_worker ?? null,
  };
}
