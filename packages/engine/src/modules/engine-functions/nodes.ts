import { CallError, Payload } from "@svc-runtime/protocol";
import type { NodeListing, NodeReport } from "@svc-runtime/protocol/listings";
import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";

const TOPIC = "engine::nodes";
const DRAIN_TOPIC = "engine::nodes::drain";
/**
 * Time limit for the answer of the node that is to be drained, in milliseconds. That node asks other nodes before it
 * answers.
 */
const DRAIN_ANSWER_MS = 3_000;
const DRAIN_MS = 30_000;
const MAX_DRAIN_MS = 3_600_000;

/** Source of the data about this engine and other nodes. */
export interface NodeSources {
  /** This engine's part of the report. */
  own(): NodeFacts;
  /** Nodes that have left the cluster. */
  gone(): readonly {
    readonly name: string;
    readonly run: string;
    readonly goneAtMs: number;
    readonly reason: string;
  }[];
  /** Moves the workers of this engine to other engines. Undefined if this engine is not in a cluster. */
  readonly drain: NodeDrain | undefined;
}

/** Both functions fail with CallError if the engine refuses. */
interface NodeDrain {
  /**
   * Starts draining. Workers that still run calls after `timeoutMs` milliseconds are disconnected. With `force`, drains
   * even if no other engine is up.
   */
  start(timeoutMs: number, options: { readonly force: boolean }): Promise<void>;
  end(): void;
}

export interface NodeFacts {
  readonly name: string;
  readonly state: "up" | "draining" | "drained";
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
  state: z.enum(["up", "draining", "drained"]),
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

/** A request to drain `node`. All nodes get it, and the other nodes ignore it. */
const drainSchema = z.object({
  node: z.string(),
  /** Null ends the draining. */
  timeout_ms: z.number().nullable(),
  force: z.boolean().default(false),
});
type DrainRequest = z.output<typeof drainSchema>;
const drainAnswerSchema = z.object({ applied: z.boolean() });

const nodeName = z
  .string()
  .min(1)
  .max(256)
  .meta({ description: "Name of the engine, as engine::nodes::list shows it" });

/** Provides `engine::nodes::list`, `engine::nodes::drain` and `engine::nodes::undrain`. */
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
    const { name, state, callsInFlight, durability, durabilityReason, stores } = sources.own();
    let workers = 0;
    directory.eachWorker(({ internal }) => {
      if (!internal) workers += 1;
    });
    return {
      ...{ name, run, version, pid, started_at_ms, workers },
      addresses: { bridge, http, realtime },
      state,
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
      const { answers, missing, problems } = nodes === undefined ? ALONE : await nodes.ask(TOPIC, Payload.null);
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
      // A node that left while it was asked is in both lists, but gets only one row.
      for (const name of missing)
        if (!gone.some((node) => node.name === name)) rows.push(silent(name, problems.get(name)));
      for (const { name, run, goneAtMs, reason } of gone)
        rows.push({ name, run, self: false, state: "gone", reason, gone_at_ms: goneAtMs, report: null });
      return { nodes: rows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)) };
    },
  });
  provideDraining({ provideFunction, nodes }, sources);
}

function provideDraining(
  { provideFunction, nodes }: Pick<ModuleContext<unknown>, "provideFunction" | "nodes">,
  sources: NodeSources | undefined,
): void {
  nodes?.answer(DRAIN_TOPIC, async (question) => {
    const { node, timeout_ms: timeoutMs, force } = drainSchema.parse(question.value());
    const drain = node === sources?.own().name ? sources.drain : undefined;
    if (timeoutMs === null) drain?.end();
    else await drain?.start(timeoutMs, { force });
    return Payload.fromValue({ applied: drain !== undefined });
  });
  const change = async (request: DrainRequest): Promise<void> => {
    const { node } = request;
    if (nodes === undefined || sources?.drain === undefined)
      throw new CallError("invalid_request", "this engine is not in a cluster: it has no other to give its workers to");
    const { answers, missing, problems, gone } = await nodes.ask(DRAIN_TOPIC, Payload.fromValue(request), {
      waitMs: DRAIN_ANSWER_MS,
      isEnough: isApplied,
    });
    if (answers.some(({ answer }) => isApplied(answer))) return;
    const refusal = problems.get(node);
    if (refusal !== undefined) throw new CallError("invalid_request", `the engine ${node} refused: ${refusal}`);
    if (missing.includes(node))
      throw new CallError(
        "call_timeout",
        `the engine ${node} did not answer within ${DRAIN_ANSWER_MS} ms; it may nevertheless have done it: see its state`,
        { details: { outcome: "unknown" } },
      );
    const names = answers.map((answer) => answer.node).join(", ");
    const problem = gone.includes(node) ? `the engine ${node} is gone` : `the cluster has no engine ${node}`;
    throw new CallError("invalid_input", `${problem}; those that are there: ${names}`);
  };
  provideFunction({
    id: "engine::nodes::drain",
    summary: "Gives the workers of an engine of the cluster to the others, before it is stopped",
    input: z.object({
      node: nodeName,
      timeout_ms: z.int().min(0).max(MAX_DRAIN_MS).default(DRAIN_MS).meta({
        description: "Workers that still run calls after this time are disconnected, in milliseconds",
      }),
      force: z.boolean().default(false).meta({
        description: "Drain it also if no other engine is up, so that the functions of its workers cannot be called",
      }),
    }),
    handle: async ({ node, timeout_ms, force }) => {
      await change({ node, timeout_ms, force });
      return { node };
    },
  });
  provideFunction({
    id: "engine::nodes::undrain",
    summary: "Lets workers connect to a drained engine of the cluster again",
    input: z.object({ node: nodeName }),
    handle: async ({ node }) => {
      await change({ node, timeout_ms: null, force: false });
      return { node };
    },
  });
}

function isApplied(answer: Payload): boolean {
  return drainAnswerSchema.safeParse(answer.value()).data?.applied === true;
}

const ALONE = { answers: [], missing: [], problems: new Map<string, string>() };

function silent(name: string, reason = "it did not answer within 500 ms"): NodeListing {
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

/**
 * Returns the offset of the node's clock, in milliseconds. The node read its clock between sending and receiving, so an
 * offset is certain only if its time is outside of this interval.
 */
function offsetOf(nowMs: number, sentAtMs: number, receivedAtMs: number): number {
  if (nowMs > receivedAtMs) return nowMs - receivedAtMs;
  return nowMs < sentAtMs ? nowMs - sentAtMs : 0;
}
