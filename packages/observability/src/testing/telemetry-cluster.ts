import { InMemoryCluster, type InMemoryEngine } from "@svc-runtime/engine/testing";
import observability, { OBSERVABILITY } from "../index.ts";

export interface TelemetryCluster {
  readonly cluster: InMemoryCluster;
  readonly engines: readonly [InMemoryEngine, InMemoryEngine, InMemoryEngine];
}

/** Turns of the event loop that engines have to work in 100 ms of their clocks, in tens. */
const TURNS = 300;

/** Moves the clocks, slowly, until the promise is settled. */
export async function whileClocksMove<Result>(cluster: InMemoryCluster, result: Promise<Result>): Promise<Result> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  result.then(settle, settle);
  for (let turn = 1; !isSettled; turn += 1) {
    await cluster.exchange();
    if (turn % TURNS === 0) await cluster.advance(100);
  }
  return result;
}

/** Starts three engines of a cluster, `a`, `b` and `c`, that record what they do. */
export async function telemetryCluster(config: object = {}): Promise<TelemetryCluster> {
  const cluster = new InMemoryCluster();
  const start = (name: string): Promise<InMemoryEngine> =>
    cluster.start(name, { modules: [observability], config: { [OBSERVABILITY]: config } });
  return { cluster, engines: [await start("a"), await start("b"), await start("c")] };
}
