import type {
  ActiveSpan,
  CallSpan,
  Clock,
  Directory,
  ObservedCall,
  ObservedProvider,
  SpanStart,
  TelemetryCollector,
} from "@svc-runtime/engine/module";
import type { CallError, Caller } from "@svc-runtime/protocol";
import type { ObservabilityConfig } from "../config.ts";
import { NODE_ATTRIBUTE, type Resource, type SpanSink } from "../telemetry-records.ts";
import { CallRecord, type FunctionFacts, type RecordHost } from "./call-record.ts";
import { CallSources } from "./call-sources.ts";
import { type CallStats, MAX_FUNCTIONS } from "./call-stats.ts";
import { CountedCall } from "./counted-call.ts";
import type { InvocationHistory } from "./invocation-history.ts";
import { ModuleSpan, type ModuleSpanHost } from "./module-span.ts";
import { SpanClock } from "./span-clock.ts";
import { TextArena } from "./text-arena.ts";
import { isSampled, isTraceparent, newSpanId, newTraceId, spanIdOf, traceIdOf } from "./trace-ids.ts";
import { TraceSampler } from "./trace-sampler.ts";
import type { WorkerCalls } from "./worker-calls.ts";

const ENQUEUE = "engine::queue::enqueue";
const CONSOLE = "console";
/**
 * Maximum number of pooled records. In a steady state, one record returns to the pool for each one that is taken, so
 * few are needed.
 */
const MAX_UNUSED_RECORDS = 256;
const CLI = "cli";

export type RecorderConfig = Pick<
  ObservabilityConfig,
  "enabled" | "metrics_enabled" | "payload_previews" | "payload_preview_bytes" | "sampling" | "sampling_ratio"
>;

export interface RecorderParts {
  readonly config: RecorderConfig;
  readonly clock: Clock;
  readonly directory: Pick<Directory, "workerById">;
  readonly sink: SpanSink;
  readonly stats: CallStats;
  readonly workerCalls: WorkerCalls;
  readonly history: InvocationHistory;
  /** The engine's own resource, for calls to modules and for their work. */
  readonly resource: Resource;
}

/**
 * Creates one span for each call, and counts the call. It is on the hot path, so it creates one object for each call,
 * parses nothing and waits for nothing.
 */
export class CallRecorder
  implements
    Pick<TelemetryCollector, "callStarted" | "callRefused" | "callDenied" | "startSpan">,
    RecordHost,
    ModuleSpanHost
{
  readonly clock: SpanClock;
  readonly sink: SpanSink;
  readonly history: InvocationHistory;
  readonly resource: Resource;
  readonly workerCalls: WorkerCalls;
  previews = true;
  previewLength = 0;
  readonly sampledTexts = new TextArena();
  readonly otherTexts = new TextArena();
  readonly #unused: CallRecord[] = [];
  #records = true;
  #counts = true;
  #sampler: TraceSampler;
  readonly #stats: CallStats;
  readonly #sources: CallSources;
  readonly #functions = new Map<string, Facts>();
  readonly #resources = new WeakMap<ObservedProvider, Resource>();

  constructor(parts: RecorderParts) {
    this.clock = new SpanClock(parts.clock);
    this.sink = parts.sink;
    this.history = parts.history;
    this.resource = parts.resource;
    this.#stats = parts.stats;
    this.workerCalls = parts.workerCalls;
    this.#sources = new CallSources(parts.directory);
    this.#sampler = new TraceSampler(parts.config);
    this.configure(parts.config);
  }

  /** Takes effect at the next call. */
  configure(config: RecorderConfig): void {
    this.#records = config.enabled;
    this.#counts = config.enabled || config.metrics_enabled;
    this.previews = config.payload_previews;
    this.previewLength = config.payload_preview_bytes;
    this.#sampler = new TraceSampler(config);
  }

  callStarted(call: ObservedCall, provider: ObservedProvider, startedAt: number): CallSpan | undefined {
    if (!this.#counts || this.#isPoll(call, provider)) return undefined;
    const facts = this.#functions.get(call.functionId) ?? this.#add(call.functionId);
    facts.stats.begin();
    if (facts.defers) this.#stats.countDeferred();
    const isRecorded = this.#records && !(provider.builtIn && this.#isToolCall(call));
    const record = isRecorded ? this.#recordOf(call, facts, this.#resourceOf(provider, facts), startedAt) : undefined;
    if (record === undefined) {
      const { workerId } = provider;
      return new CountedCall({
        ...{ stats: facts.stats, startedAt, traceparent: call.traceparent, clock: this.clock },
        onEnd: (isOk, ms) => provider.builtIn || this.workerCalls.ended(workerId, isOk, ms),
      });
    }
    this.history.begun(record);
    this.sink.started(record);
    return record;
  }

  callRefused(call: ObservedCall, error: CallError): void {
    if (!this.#counts || this.#isFromConsole(call.caller)) return;
    this.#stats.countRefused(error.code);
    const now = this.clock.monotonic();
    const facts =
      this.#functions.get(call.functionId) ?? new Facts(call.functionId, this.#stats.ofRefused(call.functionId));
    facts.stats.refuse(this.clock.anchorAt(now).offsetMs + now);
    if (!this.#records) return;
    const record = this.#recordOf(call, facts, this.resource, now);
    if (record === undefined) return;
    this.history.begun(record);
    record.refused(error);
  }

  callDenied(error: CallError, caller: Caller): void {
    if (this.#counts && !this.#isFromConsole(caller)) this.#stats.countRefused(error.code);
  }

  startSpan(start: SpanStart, module: string): ActiveSpan {
    const { traceparent } = start;
    if (!this.#records) return { traceparent, setAttribute: () => {}, end: () => {} };
    const span = new ModuleSpan(
      this,
      start,
      this.#idsFor(isTraceparent(traceparent) ? traceparent : undefined, start.name, this.resource.service),
    );
    this.#sources.opened(span.spanId, module);
    this.sink.started(span);
    return span;
  }

  onEnd(span: ModuleSpan): void {
    this.#sources.closed(span.spanId);
  }

  /**
   * Returns undefined if the call is only counted. The engine's own functions are recorded within a caller's trace, but
   * not when the console or a CLI command calls them.
   */
  #recordOf(call: ObservedCall, facts: Facts, resource: Resource, startedAt: number): CallRecord | undefined {
    const { traceparent } = call;
    if (!isTraceparent(traceparent)) {
      if (facts.internal) return undefined;
      const source = this.#sources.of(call.caller, undefined);
      // These calls are not recorded, and neither are those of the queue's functions, which a console polls.
      if (facts.isOfEngine && (source === CONSOLE || source === CLI)) return undefined;
      const traceId = newTraceId();
      const sampled =
        this.#sampler.keepsAll || this.#sampler.decideRoot(traceId, facts.functionId, resource.service, startedAt);
      const record = this.#unused.pop() ?? new CallRecord(this, facts, resource);
      record.begin(call, facts, resource, startedAt, source, traceId, newSpanId(), undefined, sampled);
      return record;
    }
    const traceId = traceIdOf(traceparent);
    const parentSpanId = spanIdOf(traceparent);
    const source = this.#sources.of(call.caller, parentSpanId);
    if (facts.internal && source === CONSOLE) return undefined;
    const sampled = this.#sampler.parentBased
      ? isSampled(traceparent)
      : this.#sampler.decide(traceId, facts.functionId, resource.service);
    const record = this.#unused.pop() ?? new CallRecord(this, facts, resource);
    record.begin(call, facts, resource, startedAt, source, traceId, newSpanId(), parentSpanId, sampled);
    return record;
  }

  recycle(record: CallRecord): void {
    if (this.#unused.length < MAX_UNUSED_RECORDS) this.#unused.push(record);
  }

  /**
   * Returns true if a console or a CLI command only reads or changes what a module stores. These calls are not
   * recorded, because a console that polls each second would fill the store with its own calls. Functions that a
   * console invokes for its user are recorded: the engine calls them (`/_console/invoke`). A CLI command's call is
   * recorded if it is part of a trace.
   */
  #isToolCall({ caller, traceparent }: ObservedCall): boolean {
    const tool = this.#sources.toolOf(caller);
    return tool === CONSOLE || (tool !== undefined && !isTraceparent(traceparent));
  }

  /** Returns true for functions that a console or a CLI command calls repeatedly, or that wait for an event. */
  #isPoll({ caller, functionId }: ObservedCall, provider: ObservedProvider): boolean {
    return provider.isPolled?.(functionId) === true && this.#sources.toolOf(caller) !== undefined;
  }

  /**
   * Returns true for calls of a console. It polls modules that may not be configured, so its rejected calls are not
   * errors.
   */
  #isFromConsole(caller: Caller | undefined): boolean {
    return this.#sources.toolOf(caller) === CONSOLE;
  }

  #idsFor(
    parent: string | undefined,
    name: string,
    service: string,
  ): { traceId: string; spanId: string; parentSpanId: string | undefined; sampled: boolean } {
    const spanId = newSpanId();
    if (parent === undefined) {
      const traceId = newTraceId();
      return {
        traceId,
        spanId,
        parentSpanId: undefined,
        sampled: this.#sampler.decideRoot(traceId, name, service, this.clock.monotonic()),
      };
    }
    const traceId = traceIdOf(parent);
    const sampled = this.#sampler.parentBased ? isSampled(parent) : this.#sampler.decide(traceId, name, service);
    return { traceId, spanId, parentSpanId: spanIdOf(parent), sampled };
  }

  /**
   * Returns the resource of the worker that runs the call. The last one is cached, because most calls of a function run
   * on the same worker.
   */
  #resourceOf(provider: ObservedProvider, facts: Facts): Resource {
    if (provider.builtIn) return this.resource;
    const last = facts.resource;
    if (last !== undefined && last.workerId === provider.workerId && last.service === provider.name) return last;
    let resource = this.#resources.get(provider);
    if (resource === undefined || resource.service !== provider.name) {
      // A worker that has not sent its name yet is named after the first part of the function id.
      const service = provider.name === "" ? (facts.functionId.split("::", 1)[0] ?? "") : provider.name;
      const node = this.resource.attributes[NODE_ATTRIBUTE];
      const attributes = {
        "service.instance.id": provider.workerId,
        ...(node === undefined ? {} : { [NODE_ATTRIBUTE]: node }),
      };
      resource = { service, workerId: provider.workerId, attributes };
      this.#resources.set(provider, resource);
    }
    facts.resource = resource;
    return resource;
  }

  #add(functionId: string): Facts {
    const stats = this.#stats.of(functionId);
    const facts = new Facts(functionId, stats);
    if (this.#functions.size < MAX_FUNCTIONS) this.#functions.set(functionId, facts);
    return facts;
  }
}

class Facts implements FunctionFacts {
  readonly functionId: string;
  readonly stats: FunctionFacts["stats"];
  readonly internal: boolean;
  /** True if the id is one of the engine's ids, even if a worker provides the function. */
  readonly isOfEngine: boolean;
  readonly defers: boolean;
  resource: Resource | undefined;

  constructor(functionId: string, stats: FunctionFacts["stats"]) {
    this.functionId = functionId;
    this.stats = stats;
    this.internal = isInternal(functionId);
    this.isOfEngine = functionId.startsWith("engine::") || functionId.startsWith("worker::");
    this.defers = functionId === ENQUEUE;
  }
}

/**
 * Returns true for functions that listings hide, and for the supervisor's functions. Returns false for the queue's
 * functions, because users call them.
 */
export function isInternal(functionId: string): boolean {
  return (
    (functionId.startsWith("engine::") && !functionId.startsWith("engine::queue::")) ||
    functionId.startsWith("worker::")
  );
}
