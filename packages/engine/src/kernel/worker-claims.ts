/**
 * How the supervisor tells the kernel which connections belong to workers of the config file. Trigger bindings of a configured
 * worker stay listed as Inactive while it is away (decision 11), however long that takes.
 */
export interface WorkerClaims {
  /** Ties a connection to the configured worker that it belongs to. */
  claim(workerId: string, configuredName: string): void;
  /** The configured worker has registered all it has: bindings it held before and did not ask for again are removed. */
  settled(configuredName: string): void;
  /** The worker left the config file: what is kept for it is removed. */
  release(configuredName: string): void;
}
