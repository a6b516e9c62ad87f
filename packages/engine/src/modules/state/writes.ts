import { CallError, type Caller } from "@svc-runtime/protocol";
import type {
  BatchedWrite,
  Conflict,
  Durability,
  ItemStore,
  ItemUpdated,
  ItemValue,
  ItemWrite,
  ItemWritten,
  NumberedChange,
} from "../../items/item-store.ts";
import type { Notice } from "../../items/outbox.ts";
import type { ItemAddress } from "../../items/plan-write.ts";
import type { StoredJson } from "../../items/stored-json.ts";
import type { UpdateOp } from "../../items/update-op.ts";
import type { Clock } from "../../kernel/clock.ts";
import { mayBeStored } from "../../store/may-be-stored.ts";

/** Trace context and caller of a write. */
export interface WriteOrigin {
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  /** The calling worker; undefined for calls of a module or the engine. */
  readonly caller?: Caller | undefined;
}

/** Listener for changes: the triggers of type `state`. */
export interface ChangeListener {
  /**
   * Called before each write. Returns the watchers for which the change is stored. Throws CallError `trigger_loop` to
   * reject the write.
   */
  notice(scope: string, key: string, origin: WriteOrigin): Notice | undefined;
  /** Called if it is unknown whether the writes with these notices were stored, and with them their deliveries. */
  unclear(notices: readonly Notice[]): void;
  /**
   * Called for each stored write of this engine or another engine that changed an item. `origin` is the origin in the
   * write's notice. Changes of a key come in order.
   */
  changed(changes: readonly NumberedChange[], origin: string | undefined): void;
}

export interface WriteRequest extends ItemAddress {
  readonly ifVersion: number | undefined;
  /** A written item gets at least this version. */
  readonly leastVersion?: number | undefined;
}

export interface SetRequest extends WriteRequest {
  readonly value: StoredJson;
  /** Expiry time, in milliseconds since 1970; undefined if the item does not expire. */
  readonly expiresAt: number | undefined;
}

export interface UpdateRequest extends WriteRequest {
  readonly ops: readonly UpdateOp[];
  readonly atomic: boolean;
  readonly maxBytes: number;
  readonly expiresAt: number | "keep";
}

export interface WritesOptions {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly listener: ChangeListener;
  /** Called for every item that is written with an expiry time. */
  readonly onExpiry: (expiresAt: number) => void;
}

/**
 * All writes of svc-state. Calls the change listener before and after each write. Throws `state_conflict` if
 * `ifVersion` does not match, `trigger_loop`, and the store's errors.
 */
export class Writes {
  readonly #store: ItemStore;
  readonly #clock: Clock;
  readonly #listener: ChangeListener;
  readonly #onExpiry: (expiresAt: number) => void;

  constructor(options: WritesOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#listener = options.listener;
    this.#onExpiry = options.onExpiry;
    // Listens until the store closes. The store calls this before a write's promise settles, so that the caller sees
    // the effects of the write.
    this.#store.onApplied(({ written: { changes, item }, origin }) => {
      if (item?.expiresAt !== undefined) this.#onExpiry(item.expiresAt);
      if (changes.length > 0) this.#listener.changed(changes, origin);
    });
  }

  get durability(): Durability {
    return this.#store.durability;
  }

  async set(request: SetRequest, origin: WriteOrigin): Promise<ItemWritten> {
    const { scope, key } = request;
    const write = this.#write(request, origin);
    return this.#store
      .set(scope, key, itemValue(request), write)
      .then((written) => this.#unlessConflict(request, written), this.#failed([write], [request]));
  }

  async update(request: UpdateRequest, origin: WriteOrigin): Promise<ItemUpdated> {
    const { scope, key, ops, atomic, maxBytes, expiresAt } = request;
    const write = this.#write(request, origin);
    const updated = this.#store.update(scope, key, { ops, atomic, maxBytes, expiresAt }, write);
    return updated.then((outcome) => this.#unlessConflict(request, outcome), this.#failed([write], [request]));
  }

  async delete(request: WriteRequest, origin: WriteOrigin): Promise<ItemWritten> {
    const write = this.#write(request, origin);
    return this.#store
      .delete(request.scope, request.key, write)
      .then((removed) => this.#unlessConflict(request, removed), this.#failed([write], []));
  }

  /** Writes all items or none. Throws `state_conflict` with `details.index`. */
  async setMany(requests: readonly SetRequest[], origin: WriteOrigin): Promise<readonly ItemWritten[]> {
    const writes = requests.map((request): BatchedWrite => {
      const { scope, key } = request;
      return { type: "set", scope, key, value: itemValue(request), write: this.#write(request, origin) };
    });
    return this.#store.writeMany(writes).then(
      (written) => {
        if (written.status === "conflict") throw conflictAt(written.index, requests[written.index], written.actual);
        return written.writes;
      },
      this.#failed(
        writes.map(({ write }) => write),
        requests,
      ),
    );
  }

  /** Deletes at most 1,000 keys in one step. Returns the number of deleted items. */
  async deleteMany(scope: string, keys: readonly string[], origin: WriteOrigin): Promise<number> {
    const writes = keys.map(
      (key): BatchedWrite => ({
        type: "delete",
        scope,
        key,
        write: this.#write({ scope, key, ifVersion: undefined }, origin),
      }),
    );
    return this.#store.writeMany(writes).then(
      (written) => {
        if (written.status === "conflict")
          throw new CallError(
            "storage_failed",
            "the store reported a version conflict for a write without a version; this is a bug in the engine",
          );
        return written.writes.filter(({ previous }) => previous !== undefined).length;
      },
      this.#failed(
        writes.map(({ write }) => write),
        [],
      ),
    );
  }

  #write({ scope, key, ifVersion, leastVersion }: WriteRequest, origin: WriteOrigin): ItemWrite {
    return { now: this.#clock.now(), ifVersion, leastVersion, notice: this.#listener.notice(scope, key, origin) };
  }

  /** Handles rejected writes. They may be stored nevertheless, with their deliveries and expiry times. */
  #failed(
    writes: readonly ItemWrite[],
    ends: readonly { readonly expiresAt: number | "keep" | undefined }[],
  ): (error: unknown) => never {
    return (error) => {
      if (mayBeStored(error)) {
        for (const { expiresAt } of ends) if (typeof expiresAt === "number") this.#onExpiry(expiresAt);
        this.#listener.unclear(writes.flatMap(({ notice }) => notice ?? []));
      }
      throw error;
    };
  }

  #unlessConflict<Written extends ItemWritten>(request: WriteRequest, written: Written | Conflict): Written {
    if (written.status === "conflict") throw conflict(request, written.actual);
    return written;
  }
}

function itemValue({ value: { json, bytes }, expiresAt }: SetRequest): ItemValue {
  return { json, bytes, expiresAt };
}

function conflict(request: WriteRequest, actual: number): CallError {
  return new CallError("state_conflict", `${conflictText(request, actual)}; nothing was written`, {
    details: { expected: request.ifVersion, actual },
  });
}

function conflictAt(index: number, request: WriteRequest | undefined, actual: number): CallError {
  const text = request === undefined ? "a version did not match" : conflictText(request, actual);
  return new CallError("state_conflict", `\`items.${index}\`: ${text}; nothing was written`, {
    details: { index, expected: request?.ifVersion, actual },
  });
}

function conflictText({ scope, key, ifVersion }: WriteRequest, actual: number): string {
  const found = actual === 0 ? "it does not exist" : `it has version ${actual}`;
  const wanted = ifVersion === 0 ? "must not exist yet" : `was expected at version ${ifVersion}`;
  return `${JSON.stringify(key)} in scope ${JSON.stringify(scope)} ${wanted}, but ${found}`;
}
