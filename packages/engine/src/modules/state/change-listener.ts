import type { Caller } from "@svc/protocol";
import type { NumberedChange } from "../../items/item-store.ts";
import type { Notice } from "../../items/outbox.ts";

/** On whose behalf something is written. */
export interface WriteOrigin {
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  /** The worker that called; undefined when a module or the engine did. */
  readonly caller?: Caller | undefined;
}

/** Whoever is to hear of changes: the triggers of type `state`. */
export interface ChangeListener {
  /** Asked before each write: what is to be kept of it for whom, together with the write. Throws CallError `trigger_loop` to refuse it. */
  notice(scope: string, key: string, origin: WriteOrigin): Notice | undefined;
  /** The changes of one write are stored; `notice` is what was answered for it. Called in the order in which they were made, as far as one key goes. */
  changed(changes: readonly NumberedChange[], notice: Notice | undefined): void;
}
