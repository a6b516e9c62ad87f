/** A copy of a replica at a position of the log. */
export interface Snapshot {
  /** Identity of the log. */
  readonly identity: string;
  readonly position: number;
}
