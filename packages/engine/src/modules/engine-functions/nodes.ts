import { CallError, Payload } from "@svc-runtime/protocol";
import type { NodeListing, NodeReport } from "@svc-runtime/protocol/listings";
import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";

const TOPIC = "engine::nodes";

/** What the engine knows of itself and of other nodes. */
export interface NodeSources {
  /** This engine's part of the report. */
  own(): NodeFacts;
  /** Nodes that were there and are gone. */
  gone(): readonly {
    readonly name: string;
    readonly run: string;
    readonly goneAtMs: number;
    readonly reason: string;
  }[];
}

export interface NodeFacts {
  readonly name: string;
  readonly isDraining: boolean;
  readonly callsInFlight: number;
  readonly durability: "durable" | "relaxed" | undefined;
  readonly durabilityReason: string | undefined;
  readonly stores: readonly {
    readonly store: string;
    readonly position: number;
    readonly problem: string | undefined;
  }[];
}

interface EngineFacts {
  readonly version: string;
  readonly instance_id: string;
  readonly pid: number;
  readonly started_at_ms: number;
  readonly addresses: NodeReport["addresses"];
}

/** A node's answer. */
const answerSchema = z.object({
  name: z.string(),
  run: z.string(),
  state: z.enum(["up", "draining"]),
  now_ms: z.number(),
  version: z.string(),
  pid: z.number(),
  addresses: z.object({ bridge: z.string(), http: z.string(), realtime: z.string() }),
  started_at_ms: z.number(),
  workers: z.number(),
  calls_in_flight: z.number(),
  durability: z.enum(["durable", "relaxed"]).nullable(),
  durability_reason: z.string().nullable(),
  stores: z.array(z.object({ store: z.string(), position: z.number(), problem: z.string().nullable() })),
});
type Answer = z.output<typeof answerSchema>;

/** Provides `engine::nodes::list`. */
export function provideNodeListing(
  {
    provideFunction,
    nodes,
    directory,
    clock,
  }: Pick<ModuleContext<unknown>, "provideFunction" | "nodes" | "directory" | "clock">,
  info: () => EngineFacts,
  sources: NodeSources | undefined,
): void {
  const answer = (): Answer => {
    if (sources === undefined) throw new CallError("internal", "this engine does not know the nodes");
    const { version, instance_id: run, pid, started_at_ms, addresses: listeners } = info();
    const { bridge, http, realtime } = listeners;
    const { name, isDraining, callsInFlight, durability, durabilityReason, stores } = sources.own();
    let workers = 0;
    directory.eachWorker(({ internal }) => {
      if (!internal) workers += 1;
    });
    return {
      ...{ name, run, version, pid, started_at_ms, workers },
      addresses: { bridge, http, realtime },
      state: isDraining ? "draining" : "up",
      now_ms: clock.now(),
      calls_in_flight: callsInFlight,
      durability: durability ?? null,
      durability_reason: durabilityReason ?? null,
      stores: stores.map((store) => ({ ...store, problem: store.problem ?? null })),
    };
  };
  nodes?.answer(TOPIC, () => Payload.fromValue(answer()));
  provideFunction({
    id: "engine::nodes::list",
    summary: "The engines of the cluster with their state, load, clocks and logs; alone: this engine",
    polled: true,
    input: z.object({}),
    handle: async () => {
      const own = answer();
      const sentAtMs = clock.now();
      const { answers, missing } = nodes === undefined ? ALONE : await nodes.ask(TOPIC, Payload.null);
      const receivedAtMs = clock.now();
      const others = answers.flatMap(({ answer: payload }) => {
        const parsed = answerSchema.safeParse(payload.value());
        return parsed.success && parsed.data.run !== own.run ? [parsed.data] : [];
      });
      const reports = [own, ...others];
      const rows: NodeListing[] = reports.map((report) =>
        rowOf(report, {
          isSelf: report === own,
          offsetMs: report === own ? 0 : offsetOf(report.now_ms, sentAtMs, receivedAtMs),
          all: reports,
        }),
      );
      const gone = sources?.gone() ?? [];
      // A node may have gone while it was asked.
      for (const name of missing) if (!gone.some((node) => node.name === name)) rows.push(silent(name));
      for (const { name, run, goneAtMs, reason } of gone)
        rows.push({ name, run, self: false, state: "gone", reason, gone_at_ms: goneAtMs, report: null });
      return { nodes: rows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)) };
    },
  });
}

const ALONE = { answers: [], missing: [] };

function silent(name: string): NodeListing {
  const reason = "it did not answer within 500 ms";
  return { name, run: "", self: false, state: "silent", reason, gone_at_ms: null, report: null };
}

function rowOf(
  answer: Answer,
  { isSelf, offsetMs, all }: { readonly isSelf: boolean; readonly offsetMs: number; readonly all: readonly Answer[] },
): NodeListing {
  const { name, run, state, now_ms: _now, stores, ...report } = answer;
  const lastOf = (store: string): number =>
    Math.max(...all.flatMap((one) => one.stores).map((one) => (one.store === store ? one.position : 0)));
  return {
    ...{ name, run, state, self: isSelf, reason: null, gone_at_ms: null },
    report: {
      ...report,
      clock_offset_ms: offsetMs,
      stores: stores.map((store) => ({ ...store, behind: lastOf(store.store) - store.position })),
    },
  };
}

/** The answer was made at some time between sending and receiving. */
function offsetOf(nowMs: number, sentAtMs: number, receivedAtMs: number): number {
  if (nowMs > receivedAtMs) return nowMs - receivedAtMs;
  return nowMs < sentAtMs ? nowMs - sentAtMs : 0;
}
