import { InMemoryCluster, type InMemoryEngine } from "@svc-runtime/engine/testing";
import observability, { OBSERVABILITY } from "../index.ts";

export interface TelemetryCluster {
  readonly cluster: InMemoryCluster;
  readonly engines: readonly [InMemoryEngine, InMemoryEngine, InMemoryEngine];
}

/** Kills an engine. Resolves when the others know that it is gone. */
export async function killedAndGone(cluster: InMemoryCluster, engine: InMemoryEngine): Promise<void> {
  cluster.kill(engine);
  await cluster.advance(12_000);
}

/** Starts three engines of a cluster, `a`, `b` and `c`, that record what they do. */
export async function telemetryCluster(config: object = {}): Promise<TelemetryCluster> {
  const cluster = new InMemoryCluster();
  const start = (name: string): Promise<InMemoryEngine> =>
    cluster.start(name, { modules: [observability], config: { [OBSERVABILITY]: config } });
  return { cluster, engines: [await start("a"), await start("b"), await start("c")] };
}
