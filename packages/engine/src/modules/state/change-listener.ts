import type { Caller } from "@svc/protocol";
import type { NumberedChange } from "../../items/item-store.ts";
import type { Notice } from "../../items/outbox.ts";

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
  /** Called after a write is stored. `notice` is the result of `notice()` for it. Changes of a key come in order. */
  changed(changes: readonly NumberedChange[], notice: Notice | undefined): void;
}
