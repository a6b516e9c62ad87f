/** Figures of a store in the engine. */
export interface StoreFigures {
  readonly stored: number;
  readonly limit: number | null;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly disk_bytes?: number;
  readonly oldest_ms: number | null;
  /** Only for spans: time since which all spans are stored. Null if none was evicted. */
  readonly complete_since_ms?: number | null;
}
