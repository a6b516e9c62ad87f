/** What a store of the engine holds. */
export interface StoreFigures {
  readonly stored: number;
  readonly limit: number | null;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly disk_bytes?: number;
  readonly oldest_ms: number | null;
  /** Spans only. Null: none was evicted. */
  readonly complete_since_ms?: number | null;
}
