import type { FunctionId, TriggerTypeId } from "@svc-runtime/protocol";
import type { MirrorEntry } from "@svc-runtime/protocol/nodes";
import type { DirectoryChange } from "../directory.ts";
import type { Registry } from "../registry.ts";
import type { Sessions } from "../sessions.ts";
import type { TriggerOwner, TriggerRequest } from "../triggers/trigger-binding.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";
import type { Peer } from "./peer.ts";

/** A frame with changes gets no further entry when it has at least this many characters. */
const FRAME_CHARACTERS = 128 * 1024;

export interface MirrorPorts {
  readonly registry: Registry;
  readonly triggers: TriggerRegistry;
  readonly sessions: Sessions;
  /** Runs an action after the present tick. */
  readonly defer: (action: () => void) => void;
  readonly peers: () => Iterable<Peer>;
}

type Kind = MirrorEntry["kind"];
type TriggerEntry = Extract<MirrorEntry, { readonly kind: "trigger" }>;

/**
 * Sends this node's workers, functions, trigger types and triggers to the peers. A peer gets everything at the
 * beginning of its session, and then the changes of each tick.
 *
 * Registrations of restricted connections are not sent, because the rules for them are in this node's config, and a
 * peer may have other rules.
 */
export class Mirror {
  readonly #ports: MirrorPorts;
  /**
   * JSON of the entries that the peers got, by key. Entries that change together are one group, for example all
   * providers of one function.
   */
  readonly #groups = new Map<string, Map<string, string>>();
  readonly #changed = new Map<string, { readonly kind: Kind; readonly id: string }>();

  constructor(ports: MirrorPorts) {
    this.#ports = ports;
  }

  /** Adds everything that is registered already. To be called once, when the reporting of changes begins. */
  begin(): void {
    for (const { workerId } of this.#ports.sessions.values()) this.#note("worker", workerId);
    for (const { id } of this.#ports.registry.entries()) this.#note("function", id);
    for (const [{ id }] of this.#ports.triggers.types()) this.#note("trigger_type", id);
    for (const { id } of this.#ports.triggers.bindings()) this.#note("trigger", id);
  }

  /** Sends everything to a peer whose session has begun. */
  introduceTo(peer: Peer): void {
    this.#update();
    sendChanges(
      [peer],
      [...this.#groups.values()].flatMap((group) => [...group]),
      [],
    );
  }

  /** Call for each change in the directory. */
  changed({ kind, id }: DirectoryChange): void {
    if (kind !== "stream" && kind !== "registrations") this.#note(kind, id);
  }

  /** Call when providers of a trigger type have changed. */
  typeChanged(id: TriggerTypeId): void {
    this.#note("trigger_type", id);
  }

  #note(kind: Kind, id: string): void {
    if (this.#changed.size === 0) this.#ports.defer(() => this.#update());
    this.#changed.set(`${kind} ${id}`, { kind, id });
  }

  /** Sends the changes since the last update. */
  #update(): void {
    const set: [string, string][] = [];
    const removed: string[] = [];
    for (const [name, { kind, id }] of this.#changed) {
      const before = this.#groups.get(name) ?? new Map<string, string>();
      const now = new Map<string, string>();
      for (const entry of this.#entriesOf(kind, id, before)) now.set(keyOf(entry), JSON.stringify(entry));
      for (const key of before.keys()) if (!now.has(key)) removed.push(key);
      for (const [key, json] of now) if (before.get(key) !== json) set.push([key, json]);
      if (now.size === 0) this.#groups.delete(name);
      else this.#groups.set(name, now);
    }
    this.#changed.clear();
    if (set.length > 0 || removed.length > 0) sendChanges(this.#ports.peers(), set, removed);
  }

  *#entriesOf(kind: Kind, id: string, before: ReadonlyMap<string, string>): Iterable<MirrorEntry> {
    if (kind === "worker") yield* this.#worker(id);
    else if (kind === "function") yield* this.#providers(id as FunctionId);
    else if (kind === "trigger_type") yield* this.#types(id as TriggerTypeId);
    else yield* this.#trigger(id, before);
  }

  *#worker(id: string): Iterable<MirrorEntry> {
    const session = this.#ports.sessions.byId(id);
    if (session === undefined || !session.principal.isTrusted) return;
    const { introduction } = session;
    yield {
      kind: "worker",
      worker_id: id,
      name: session.name,
      description: introduction?.description,
      runtime: introduction?.runtime ?? "unknown",
      version: introduction?.version,
      os: introduction?.os,
      pid: introduction?.pid,
      isolation: introduction?.isolation,
      ip_address: session.remoteAddress,
      worker_kind: introduction?.kind ?? "worker",
      features: [...session.features],
      connected_at_ms: session.connectedAtMs,
      configured_worker: this.#ports.triggers.configuredWorkerOf(id),
    };
  }

  *#providers(id: FunctionId): Iterable<MirrorEntry> {
    for (const { provider, description } of this.#ports.registry.find(id)?.registrations ?? []) {
      if (provider.builtIn || provider.remote !== undefined || !provider.principal.isTrusted) continue;
      yield {
        kind: "function",
        worker_id: provider.workerId,
        id,
        description: description.description,
        request_format: description.requestFormat,
        response_format: description.responseFormat,
        metadata: description.metadata,
        timeout_ms: description.timeoutMs,
      };
    }
  }

  *#types(id: TriggerTypeId): Iterable<MirrorEntry> {
    for (const { provider, description, requestFormat, callRequestFormat } of this.#ports.triggers.entriesOf(id)) {
      if (provider.builtIn || provider.remote !== undefined || !provider.principal.isTrusted) continue;
      yield {
        kind: "trigger_type",
        worker_id: provider.workerId,
        id,
        description,
        trigger_request_format: requestFormat,
        call_request_format: callRequestFormat,
      };
    }
  }

  *#trigger(id: string, before: ReadonlyMap<string, string>): Iterable<MirrorEntry> {
    const binding = this.#ports.triggers.bindingById(id);
    if (binding === undefined || binding.id !== id) return;
    let local: { readonly owner: TriggerOwner; readonly request: TriggerRequest } | undefined;
    for (const each of binding.owners.values()) {
      const { owner } = each;
      if (owner.isRemote !== true && owner.principal.isTrusted && owner.isStandby !== true) local ??= each;
    }
    if (local === undefined) {
      // The trigger's worker may come back. This node keeps the binding until then, so the peers must keep it too.
      const [last] = before.values();
      if (last !== undefined && binding.awaitsOwner) yield { ...(JSON.parse(last) as TriggerEntry), is_away: true };
      return;
    }
    yield {
      kind: "trigger",
      worker_id: local.owner.workerId,
      id: binding.id,
      trigger_type: binding.type,
      function_id: binding.functionId,
      config: binding.config,
      // The binding's own metadata is not sent, because it may come from another node. Then the two nodes would send
      // each other changes endlessly.
      metadata: local.request.metadata,
      ignores_unknown: local.owner.ignoresUnknown,
      is_away: false,
      served_by: this.#ports.triggers.typeById(binding.type)?.provider.remote?.run,
    };
  }
}

/** Returns the key that identifies the entry in later changes. */
function keyOf(entry: MirrorEntry): string {
  if (entry.kind === "worker") return `worker ${entry.worker_id}`;
  // A trigger has one entry, even if several workers registered it.
  return entry.kind === "trigger" ? `trigger ${entry.id}` : `${entry.kind} ${entry.worker_id} ${entry.id}`;
}

function sendChanges(
  peers: Iterable<Peer>,
  set: readonly (readonly [string, string])[],
  removed: readonly string[],
): void {
  const payloads: Uint8Array[] = [];
  let texts: string[] = [];
  let size = 0;
  const end = (gone: readonly string[]): void => {
    const changes = `{"set":[${texts.join(",")}],"removed":${JSON.stringify(gone)}}`;
    payloads.push(Buffer.from(changes));
    texts = [];
    size = 0;
  };
  for (const [key, entry] of set) {
    texts.push(`{"key":${JSON.stringify(key)},"entry":${entry}}`);
    size += entry.length;
    if (size >= FRAME_CHARACTERS) end([]);
  }
  if (texts.length > 0 || removed.length > 0) end(removed);
  for (const peer of peers) for (const payload of payloads) peer.send({ type: "mirror" }, payload);
}
