/**
 * The supervisor's interface for assigning connections to workers of the config file. While such a worker is
 * disconnected, its trigger bindings stay listed as inactive without a time limit.
 */
export interface WorkerClaims {
  /** Assigns a connection to its configured worker. */
  claim(workerId: string, configuredName: string): void;
  /** The configured worker has registered everything. Former bindings that it did not register again are removed. */
  settled(configuredName: string): void;
  /** The worker was removed from the config file. Its kept bindings are removed. */
  release(configuredName: string): void;
}

/**
 * The supervisor's interface for replacing a process of a worker without an interruption. A connection is in service or
 * on standby. A connection on standby gets a call only if no connection in service can run it, and serves a trigger
 * type only if there is no other provider. Its triggers are active only if a connection in service registered them too.
 */
export interface WorkerStandby {
  /**
   * Changes the state of all these connections at once. So an event never calls two processes, and is never missed by
   * both. Triggers of connections that go on standby are removed, unless a connection in service registered them too.
   * Ids of ended connections have no effect.
   */
  assign(changes: { readonly inService?: Iterable<string>; readonly standby?: Iterable<string> }): void;
  /** Resolves when these connections have no calls in flight. */
  whenIdle(connections: Iterable<string>): Promise<void>;
}
