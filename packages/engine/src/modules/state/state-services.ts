import type { ItemStore } from "../../items/item-store.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { HandlerContext } from "../../kernel/module.ts";
import type { Reads } from "./reads.ts";
import type { WriteOrigin, Writes } from "./writes.ts";

/** Dependencies of the functions of svc-state. */
export interface StateServices {
  readonly store: ItemStore;
  readonly reads: Reads;
  readonly writes: Writes;
  readonly clock: Clock;
  /** Must be read at each use, because the config may change while the module runs. */
  readonly limits: { readonly maxValueBytes: number };
}

export function originOf({ traceparent, baggage, caller }: HandlerContext): WriteOrigin {
  return { traceparent, baggage, caller };
}
