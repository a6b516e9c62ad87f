import { Payload } from "@svc/protocol";
import { z } from "zod";
import { schemaOf } from "../../../kernel/lazy-schema.ts";
import type { ModuleContext, TriggerBinding } from "../../../kernel/module.ts";
import { newTraceparent, traceIdOf } from "../calls/trace-ids.ts";
import type { SpanRecord } from "../model.ts";
import { seesCall } from "../query/sees-call.ts";
import type { SpanStore, TraceRow } from "./span-store.ts";
import { factsOf, statusOf, type TraceFacts } from "./trace-facts.ts";
import { TraceFeed } from "./trace-feed.ts";
import { factsMatcher } from "./trace-match.ts";
import { traceFiltersSchema } from "./trace-query.ts";
import { visibleSpans } from "./visible-spans.ts";

const DELAY_MS = 300;
/** Traces that are remembered as told, and as our own doing. */
const MAX_REMEMBERED = 10_000;
/** Firings of one trigger at once; traces of further ones are left out. */
const MAX_UNDER_WAY = 16;

const settingsSchema = z.strictObject({
  service_name: z.string().min(1).max(512).optional().meta({ description: "Part of the name of a service in the trace, case-blind" }),
  status: z.enum(["ok", "error"]).optional(),
  function_id: z.string().min(1).max(512).optional().meta({ description: "Function that the trace began with" }),
  min_duration_ms: z.number().min(0).optional(),
});
type Settings = z.infer<typeof settingsSchema>;

class Recent {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    if (this.#ids.size >= MAX_REMEMBERED)
      for (const oldest of this.#ids) {
        this.#ids.delete(oldest);
        break;
      }
    this.#ids.add(id);
  }
}

interface Bound {
  readonly binding: TriggerBinding<Settings>;
  readonly matches: (facts: TraceFacts) => boolean;
  readonly told: Recent;
  underWay: number;
}

/** The trigger type `trace`: fires with `{trace_ids}` for traces that have ended, each once, never for those that its own firings are. */
export class TraceTriggers {
  readonly #context: ModuleContext<unknown>;
  readonly #store: SpanStore;
  readonly #feed: TraceFeed;
  readonly #bound = new Set<Bound>();
  readonly #own = new Recent();

  constructor(context: ModuleContext<unknown>, store: SpanStore) {
    this.#context = context;
    this.#store = store;
    this.#feed = new TraceFeed({ store, clock: context.clock, log: context.log, delayMs: DELAY_MS, tell: (rows) => this.#tell(rows) });
    context.provideTrigger({
      type: "trace",
      summary: "Traces have ended",
      settings: settingsSchema,
      bind: (binding) => this.#bind(binding),
    });
  }

  /** On the hot path. */
  changed(span: SpanRecord): void {
    if (this.#bound.size > 0 && !this.#own.has(span.traceId)) this.#feed.changed(span);
  }

  stop(): void {
    this.#feed.stop();
  }

  #bind(binding: TriggerBinding<Settings>): () => void {
    const refusal = binding.callRefusal("engine::traces::list");
    if (refusal !== undefined) throw refusal;
    const { service_name, status, min_duration_ms, function_id } = binding.settings;
    const matchesFilters = factsMatcher(schemaOf(traceFiltersSchema).parse({ service_name, status, min_duration_ms }));
    const matches = (facts: TraceFacts): boolean => matchesFilters(facts) && (function_id === undefined || facts.functionId === function_id);
    const bound: Bound = { binding, matches, told: new Recent(), underWay: 0 };
    this.#bound.add(bound);
    this.#feed.ask(true);
    return () => {
      this.#bound.delete(bound);
      if (this.#bound.size === 0) this.#feed.ask(false);
    };
  }

  #tell(rows: readonly TraceRow[]): void {
    const ended = rows.map(({ facts }) => facts).filter((facts) => statusOf(facts) !== "pending" && !this.#own.has(facts.traceId));
    for (const bound of this.#bound) {
      const untold = ended.filter((facts) => !bound.told.has(facts.traceId));
      if (untold.length === 0 || bound.underWay >= MAX_UNDER_WAY) continue;
      bound.underWay += 1;
      void this.#tellOne(bound, untold).finally(() => {
        bound.underWay -= 1;
      });
    }
  }

  /** Never rejects. */
  async #tellOne(bound: Bound, untold: readonly TraceFacts[]): Promise<void> {
    try {
      const seen = bound.binding.principal.isTrusted ? untold : await this.#asSeenBy(bound.binding, untold);
      const ids = seen.filter((facts) => bound.matches(facts) && !bound.told.has(facts.traceId)).map(({ traceId }) => traceId);
      if (ids.length === 0) return;
      for (const id of ids) bound.told.add(id);
      await this.#fire(bound.binding, ids);
    } catch (error) {
      this.#context.log.warn("a trace trigger could not be fired", { function: bound.binding.functionId, error });
    }
  }

  /** Traces as far as those who asked for the binding may see them. */
  async #asSeenBy(binding: TriggerBinding<Settings>, traces: readonly TraceFacts[]): Promise<TraceFacts[]> {
    const sees = seesCall({ callRefusal: (functionId) => binding.callRefusal(functionId) });
    const seen: TraceFacts[] = [];
    // One after the other: a trace may have 50,000 spans.
    for (const { traceId } of traces) {
      const facts = factsOf(visibleSpans(await this.#store.spansOf(traceId), sees));
      if (facts !== undefined) seen.push(facts);
    }
    return seen;
  }

  /** Never rejects. */
  async #fire(binding: TriggerBinding<Settings>, traceIds: readonly string[]): Promise<void> {
    const span = this.#context.telemetry.startSpan({ name: "trace trigger", kind: "producer", attributes: { "svc.trigger.type": "trace" } });
    // Also where the engine records no spans: workers may send theirs, and what a firing does fires nothing.
    const traceparent = span.traceparent ?? newTraceparent();
    this.#own.add(traceIdOf(traceparent));
    try {
      const payload = Payload.fromValue({ trace_ids: traceIds });
      const options = { traceparent };
      if (await binding.passes(payload, options)) await binding.fire(payload, options);
      span.end();
    } catch (error) {
      span.end({ error: error instanceof Error ? error.message : String(error) });
      this.#context.log.warn("the function of a trace trigger failed", { function: binding.functionId, error });
    }
  }
}
