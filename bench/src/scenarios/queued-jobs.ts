import { join } from "node:path";
import type { Bar } from "../bars.ts";
import { cpuUsPerOperation, type JobLoad, operationsPerSecond, type Window } from "../generator/load.ts";
import { installPeers } from "../peers.ts";
import { RequestProcess, type Server } from "../processes.ts";
import { startDurableRedis } from "../redis-process.ts";
import { interleave, type Variant } from "../rounds.ts";
import type { BullReply, BullRequest } from "../servers/bull-queue.ts";
import type { SyncRate } from "../servers/fdatasync-loop.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, type ScenarioContext, withServers } from "./scenario.ts";

const IN_FLIGHT = [1, 128] as const;
/** Minimum ratio of the engine's rate to that of BullMQ, by the number of jobs in flight. */
const LEAST_RATE = { 1: 1, 128: 1.2 } as const;
const PAYLOAD_BYTES = 100;
const QUEUE = "bench";
const SYNC_TIMEOUT_MS = 30_000;
const GRACE_MS = 60_000;
const BULL = "BullMQ on Redis, appendfsync always";

/**
 * Measures the time from adding a durable job to a queue until its worker is called, compared with BullMQ on a Redis
 * that syncs each write.
 */
export const queuedJobs: Scenario = {
  title: `Durable jobs, enqueued and run, ${PAYLOAD_BYTES} B, ${IN_FLIGHT.join(" and ")} in flight`,
  rows: [21],
  run(context) {
    const { options, generator } = context;
    const modules = [
      { name: "svc-queue", config: { queue_configs: { [QUEUE]: { concurrency: Math.max(...IN_FLIGHT) } } } } as const,
    ];
    return withServers({ engine: () => engineFor(context, "queued-jobs", modules) }, async ({ engine }) => {
      const bull = options.peers ? await startBull(context) : undefined;
      const disk = await RequestProcess.start<number, SyncRate>("servers/fdatasync-loop", [context.folder]);
      try {
        const timing = { payloadBytes: PAYLOAD_BYTES, warmUpMs: options.warmUpMs, measureMs: options.measureMs };
        const syncs: number[] = [];
        const variants: Record<string, Variant> = {};
        for (const concurrency of IN_FLIGHT) {
          const jobs: JobLoad = {
            ...timing,
            kind: "jobs",
            queue: QUEUE,
            port: engine.port,
            concurrency,
            observe: [engine.pid],
          };
          variants[`svc-queue, ${concurrency}`] = async () => {
            syncs.push((await disk.ask(options.measureMs, SYNC_TIMEOUT_MS)).perSecond);
            return generator.measure(jobs);
          };
          if (bull !== undefined) variants[`BullMQ, ${concurrency}`] = () => bull.measure({ ...timing, concurrency });
        }
        const windows = await interleave(variants, options.rounds);
        const of = (name: string): readonly Window[] => windows[name] ?? [];
        return {
          measurements: measurementsOf(windows),
          notes: [
            `fdatasync, one after the other: ${syncs.slice(IN_FLIGHT.length).map(Math.round).join(", ")} per second`,
            bull === undefined
              ? `${BULL}: not run; give --peers, and have redis-server installed`
              : `BullMQ is ${BULL}; the CPU is that of Redis`,
          ],
          bars: bull === undefined ? [] : IN_FLIGHT.flatMap((concurrency) => barsOf(of, concurrency)),
        };
      } finally {
        await Promise.all([disk.stop(), bull?.stop()]);
      }
    });
  },
};

function barsOf(of: (name: string) => readonly Window[], concurrency: (typeof IN_FLIGHT)[number]): Bar[] {
  const compared = (value: (window: Window) => number) =>
    ratio(of(`svc-queue, ${concurrency}`).map(value), of(`BullMQ, ${concurrency}`).map(value));
  const quoted = { row: 21, unit: "x", standing: "quoted" } as const;
  return [
    {
      ...quoted,
      what: `jobs/s, ${concurrency} in flight, vs BullMQ`,
      measured: compared(operationsPerSecond),
      limit: LEAST_RATE[concurrency],
      sense: "at least",
      standing: "binding",
    },
    {
      ...quoted,
      what: `CPU per job, ${concurrency} in flight, vs Redis alone`,
      measured: compared(cpuUsPerOperation),
      limit: 4,
      sense: "at most",
    },
  ];
}

interface Bull {
  measure(request: Omit<BullRequest, "observe">): Promise<Window>;
  stop(): Promise<unknown>;
}

/** Returns undefined if there is no Redis. */
async function startBull(context: ScenarioContext): Promise<Bull | undefined> {
  const redis: Server | undefined = await startDurableRedis(join(context.folder, "redis"));
  if (redis === undefined) return undefined;
  try {
    const { packages } = await installPeers();
    const client = await RequestProcess.start<BullRequest, BullReply>("servers/bull-queue", [
      packages,
      String(redis.port),
    ]);
    return {
      async measure(request) {
        const reply = await client.ask(
          { ...request, observe: [redis.pid] },
          request.warmUpMs + request.measureMs + GRACE_MS,
        );
        if ("error" in reply) throw new Error(`${BULL}: ${reply.error}`);
        return reply.window;
      },
      stop: () => Promise.all([client.stop(), redis.stop()]),
    };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}
