import type { Payload } from "@svc-runtime/protocol";
import type { UpdateOp } from "../../items/update-op.ts";

export interface GroupAddress {
  readonly stream: string;
  readonly group: string;
}

export interface ItemAddress extends GroupAddress {
  readonly id: string;
}

/** Options of a write. */
export interface WriteChoices {
  readonly ifVersion: number | undefined;
  /** Time until the item expires, in milliseconds. Undefined: it does not expire; an update keeps the expiry time. */
  readonly expiresInMs: number | undefined;
}

export interface Update extends WriteChoices {
  readonly ops: readonly UpdateOp[];
  readonly atomic: boolean;
}

/** Trace context and cancellation of a call. */
export interface Cause {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  /** Aborts when the caller cancels. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Storage of a stream's items. Each method returns the result of the function `stream::*` with the same name. Writes
 * publish their changes.
 */
export interface StreamBackend {
  get(address: ItemAddress, cause: Cause): Promise<Payload>;
  getEntry(address: ItemAddress): Promise<Payload>;
  /** `data` is JSON. */
  set(address: ItemAddress, data: Payload, choices: WriteChoices, cause: Cause): Promise<Payload>;
  update(address: ItemAddress, update: Update, cause: Cause): Promise<Payload>;
  delete(address: ItemAddress, choices: Pick<WriteChoices, "ifVersion">, cause: Cause): Promise<Payload>;
  list(address: GroupAddress, cause: Cause): Promise<Payload>;
  entries(address: GroupAddress, page: PageChoices): Promise<Payload>;
  listGroups(stream: string, cause: Cause): Promise<readonly string[]>;
}

export interface PageChoices {
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
}
