import type { Payload } from "@svc/protocol";
import type { UpdateOp } from "../../items/update-op.ts";

export interface GroupAddress {
  readonly stream: string;
  readonly group: string;
}

export interface ItemAddress extends GroupAddress {
  readonly id: string;
}

/** What a write depends on. */
export interface WriteChoices {
  readonly ifVersion: number | undefined;
  /** Milliseconds from now until the item is deleted by itself; undefined: never, or for an update as before. */
  readonly expiresInMs: number | undefined;
}

export interface Update extends WriteChoices {
  readonly ops: readonly UpdateOp[];
  readonly atomic: boolean;
}

/** Who asked, for what the work leads to. */
export interface Cause {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  /** Aborts when the answer is not wanted any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Whoever keeps the items of a stream. Each method answers what the function of its name answers; writes publish what they changed. */
export interface StreamKeeper {
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
