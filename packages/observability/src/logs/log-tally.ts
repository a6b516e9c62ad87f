import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";
import { attributeOf, textOfValue } from "../query/attributes.ts";
import { type LogRecord, millisOf } from "../telemetry-records.ts";
import { fieldOf, functionOf, workerOf } from "./log-filter.ts";
import { type RedactAttributes, redactionOf, redactRecord } from "./log-json.ts";
import type { LogPosition, TallyRequest, TallySlice } from "./log-store.ts";
import { SEVERITIES } from "./severity.ts";
import type { StoredLog } from "./stored-log.ts";

/** Maximum number of different values per facet; further ones are counted together. */
const MAX_FACET_VALUES = 1_000;
export const OTHER_VALUES = "(other)";

export function positionOf({ id, log }: StoredLog): LogPosition {
  return { timeUnixNano: log.timeUnixNano, id };
}

/** Negative if `a` comes before `b` in time. */
export function comparePositions(a: LogPosition, b: LogPosition): number {
  if (a.timeUnixNano !== b.timeUnixNano) return a.timeUnixNano < b.timeUnixNano ? -1 : 1;
  return a.id - b.id;
}

export class Tally {
  total = 0;
  firstMs: number | undefined;
  lastMs: number | undefined;
  readonly facets: Map<string, Map<string, number>>;
  readonly histogram: number[][];
  readonly #range: TallyRequest["histogram"];
  /** Returns the entry as it is shown, with at least the attributes that the facets read. */
  readonly #shown: (log: LogRecord) => LogRecord;

  constructor(request: Pick<TallyRequest, "facets" | "histogram"> & Partial<Pick<TallyRequest, "filter">>) {
    const redact = redactionOf(request.filter?.redactKeys ?? []);
    this.#shown = partlyShown(request.facets, redact) ?? ((log) => redactRecord(log, redact));
    this.facets = new Map(request.facets.map((name) => [name, new Map()]));
    this.#range = request.histogram;
    this.histogram = Array.from({ length: request.histogram?.buckets ?? 0 }, () => SEVERITIES.map(() => 0));
  }

  add(entry: StoredLog): void {
    this.total += 1;
    const ms = millisOf(entry.log.timeUnixNano);
    this.#span(ms, ms);
    if (this.facets.size > 0) {
      const shown = this.#shown(entry.log);
      for (const [name, counts] of this.facets) {
        const value = facetValue(shown, name);
        if (value !== undefined) count(counts, value, 1);
      }
    }
    if (this.#range === undefined) return;
    const { startMs, endMs, buckets } = this.#range;
    const index = Math.min(buckets - 1, Math.floor(((ms - startMs) / Math.max(1e-6, endMs - startMs)) * buckets));
    const bucket = index < 0 ? undefined : this.histogram[index];
    const level = SEVERITIES.indexOf(entry.log.severityText);
    if (bucket !== undefined && ms <= endMs) bucket[level] = (bucket[level] ?? 0) + 1;
  }

  merge(slice: TallySlice): void {
    this.total += slice.total;
    if (slice.firstMs !== undefined && slice.lastMs !== undefined) this.#span(slice.firstMs, slice.lastMs);
    for (const [name, counts] of slice.facets) {
      const mine = this.facets.get(name);
      if (mine !== undefined) for (const [value, number] of counts) count(mine, value, number);
    }
    slice.histogram.forEach((levels, index) => {
      const mine = this.histogram[index];
      if (mine !== undefined)
        levels.forEach((number, level) => {
          mine[level] = (mine[level] ?? 0) + number;
        });
    });
  }

  slice(next: LogPosition | undefined): TallySlice {
    const { total, facets, histogram, firstMs, lastMs } = this;
    return { total, facets, histogram, firstMs, lastMs, next };
  }

  #span(first: number, last: number): void {
    this.firstMs = Math.min(this.firstMs ?? first, first);
    this.lastMs = Math.max(this.lastMs ?? last, last);
  }
}

function count(counts: Map<string, number>, value: string, number: number): void {
  const before = counts.get(value);
  const counted = before === undefined && counts.size >= MAX_FACET_VALUES ? OTHER_VALUES : value;
  counts.set(counted, (counts.get(counted) ?? 0) + number);
}

/** Attributes that the usual facets read. */
const FACET_ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ["level", []],
  ["service", []],
  ["function_id", ["svc.function_id", "function_id"]],
  ["worker", ["svc.worker.name"]],
]);
/** Maximum number of remembered combinations of their values. */
const MAX_REMEMBERED = 1_000;

/**
 * Returns a function that masks only the attributes that the facets read, each combination of values once: masking
 * takes most of the time of a count. Undefined if a facet may read any attribute.
 */
function partlyShown(facets: readonly string[], redact: RedactAttributes): ((log: LogRecord) => LogRecord) | undefined {
  if (!facets.every((facet) => FACET_ATTRIBUTES.has(facet))) return undefined;
  const names = facets.flatMap((facet) => FACET_ATTRIBUTES.get(facet) ?? []);
  const remembered = new Map<string, Attributes>();
  return (log) => {
    const read: Record<string, AttributeValue> = {};
    for (const name of names) {
      const value = Object.hasOwn(log.attributes, name) ? log.attributes[name] : undefined;
      if (value !== undefined) read[name] = value;
    }
    const key = JSON.stringify(read);
    let attributes = remembered.get(key);
    if (attributes === undefined) {
      attributes = redact(read);
      if (remembered.size < MAX_REMEMBERED) remembered.set(key, attributes);
    }
    return { ...log, attributes };
  };
}

function facetValue(log: LogRecord, name: string): string | undefined {
  if (name === "level") return log.severityText;
  if (name === "service") return log.resource.service;
  if (name === "function_id") return functionOf(log);
  if (name === "worker") return workerOf(log);
  const value = attributeOf(log.attributes, name) ?? fieldOf(log, name);
  return value === undefined || value === null ? undefined : textOfValue(value).slice(0, 256);
}
