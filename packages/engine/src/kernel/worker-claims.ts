/**
 * The supervisor's interface for assigning connections to workers of the config file. Trigger bindings of a configured
 * worker stay listed as inactive while it is disconnected (decision 11), without a time limit.
 */
export interface WorkerClaims {
  /** Assigns a connection to its configured worker. */
  claim(workerId: string, configuredName: string): void;
  /** The configured worker has registered everything. Former bindings that it did not register again are removed. */
  settled(configuredName: string): void;
  /** The worker was removed from the config file. Its kept bindings are removed. */
  release(configuredName: string): void;
}
