import type { Caller } from "@svc/protocol";
import type { NumberedChange } from "../../../items/item-store.ts";
import type { Notice } from "../../../items/outbox.ts";

/** What is known of the call that makes a write. Nothing, where the engine itself does (an item's end). */
export interface WriteOrigin {
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  readonly caller?: Caller | undefined;
}

/** Whoever is to be told of changes. Give both calls of one write the same `origin` object. */
export interface ChangeListener {
  /** Before a write of an item: what is to be kept with it. Throws CallError `trigger_loop`, and then nothing may be written. */
  notice(scope: string, key: string, origin: WriteOrigin): Notice | undefined;
  /** After it, in the turn in which the store answered: what changed. */
  changed(changes: readonly NumberedChange[], origin: WriteOrigin): void;
}
