import type { SecretMask } from "@svc-runtime/protocol";
import type { TraceFilters } from "../trace-query.ts";
import type { TraceIndex } from "./trace-index.ts";

/** Maximum number of remembered conditions. Each needs a bit of a small integer. */
const MAX_CONDITIONS = 30;

/**
 * Assigns a bit to the span conditions of a query. Each trace stores under this bit whether it meets them. When a page
 * repeats its query (for example the Dashboard), only the spans of changed traces are read. The least recently used
 * condition loses its bit.
 */
export class ConditionBits {
  readonly #index: Pick<TraceIndex, "forget">;
  readonly #bits = new Map<string, number>();
  #redactor: SecretMask | undefined;
  #last: { readonly filters: TraceFilters; readonly bit: number } | undefined;

  constructor(index: Pick<TraceIndex, "forget">) {
    this.#index = index;
  }

  /**
   * Returns the bit for the conditions. It stays assigned until the caller awaits something. When the secret mask has
   * changed, all bits begin again, because masked values are not found.
   */
  bitOf(filters: TraceFilters, redactor: SecretMask): number {
    if (redactor !== this.#redactor) {
      for (const bit of this.#bits.values()) this.#index.forget(bit);
      this.#bits.clear();
      this.#last = undefined;
      this.#redactor = redactor;
    }
    if (this.#last?.filters === filters) return this.#last.bit;
    const key = keyOf(filters);
    let bit = this.#bits.get(key);
    if (bit === undefined) bit = this.#bits.size < MAX_CONDITIONS ? 1 << this.#bits.size : this.#takeOldest();
    else this.#bits.delete(key);
    this.#bits.set(key, bit);
    this.#last = { filters, bit };
    return bit;
  }

  #takeOldest(): number {
    const [oldest] = this.#bits;
    if (oldest === undefined) return 1;
    const [key, bit] = oldest;
    this.#bits.delete(key);
    this.#index.forget(bit);
    return bit;
  }
}

/** Returns the filters that `spanConditions` and `groupsMatcher` read, as one text. */
function keyOf(filters: TraceFilters): string {
  const { function_id, worker, attributes, exclude_attributes, filters: more, text, search_all_spans, name } = filters;
  const { groups } = filters;
  const searchedName = search_all_spans ? name : undefined;
  return JSON.stringify([function_id, worker, attributes, exclude_attributes, more, text, searchedName, groups]);
}
