import { attributeOf, textOfValue } from "../query/attributes.ts";
import { type LogRecord, millisOf, type SeverityText } from "../telemetry-records.ts";
import { areLabelFacets, LabelSet, LabelSets, ownLabels } from "./label-sets.ts";
import { fieldOf, functionOf, workerOf } from "./log-filter.ts";
import { type RedactAttributes, redactionOf } from "./log-json.ts";
import type { LogPosition, TallyRequest, TallySlice } from "./log-store.ts";
import { SEVERITIES } from "./severity.ts";
import type { StoredLog } from "./stored-log.ts";

/**
 * Maximum number of different values per facet when slices are merged. Further values are counted together as
 * `OTHER_VALUES`.
 */
const MAX_FACET_VALUES = 1_000;
export const OTHER_VALUES = "(other)";

export function positionOf({ id, log }: StoredLog): LogPosition {
  return { timeUnixNano: log.timeUnixNano, id };
}

/** Compares two positions in time. The result is negative if `a` comes before `b`. */
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
  readonly #redact: RedactAttributes;
  /**
   * Label sets, through which labels are masked once for many entries, because masking would take most of the time.
   * Undefined if a facet reads members that are not labels.
   */
  readonly #labels: LabelSets | undefined;

  constructor(request: Pick<TallyRequest, "facets" | "histogram"> & Partial<Pick<TallyRequest, "filter">>) {
    this.#redact = redactionOf(request.filter?.redactKeys ?? []);
    this.#labels = areLabelFacets(request.facets) ? new LabelSets() : undefined;
    this.facets = new Map(request.facets.map((name) => [name, new Map()]));
    this.#range = request.histogram;
    this.histogram = Array.from({ length: request.histogram?.buckets ?? 0 }, () => SEVERITIES.map(() => 0));
  }

  add({ log }: StoredLog): void {
    this.addTime(millisOf(log.timeUnixNano), log.severityText);
    if (this.facets.size > 0) this.addFacets(this.#labelsOf(log), 1);
  }

  /** Counts an entry, except for its facets. */
  addTime(ms: number, severity: SeverityText): void {
    this.total += 1;
    this.#span(ms, ms);
    if (this.#range === undefined) return;
    const { startMs, endMs, buckets } = this.#range;
    const index = Math.min(buckets - 1, Math.floor(((ms - startMs) / Math.max(1e-6, endMs - startMs)) * buckets));
    const bucket = index < 0 ? undefined : this.histogram[index];
    const level = SEVERITIES.indexOf(severity);
    if (bucket !== undefined && ms <= endMs) bucket[level] = (bucket[level] ?? 0) + 1;
  }

  /** Adds the number of entries to the facet counts of these labels. */
  addFacets(labels: LabelSet, entries: number): void {
    if (this.facets.size === 0) return;
    const shown = labels.shown(this.#redact);
    for (const [name, counts] of this.facets) {
      const value = facetValue(shown, name);
      if (value !== undefined) count(counts, value, entries);
    }
  }

  merge(slice: TallySlice): void {
    this.total += slice.total;
    if (slice.firstMs !== undefined && slice.lastMs !== undefined) this.#span(slice.firstMs, slice.lastMs);
    for (const [name, counts] of slice.facets) {
      const mine = this.facets.get(name);
      if (mine === undefined) continue;
      for (const [value, number] of counts)
        count(mine, mine.has(value) || mine.size < MAX_FACET_VALUES ? value : OTHER_VALUES, number);
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

  #labelsOf(log: LogRecord): LabelSet {
    return this.#labels === undefined ? new LabelSet(log) : (this.#labels.share(log) ?? ownLabels(log));
  }

  #span(first: number, last: number): void {
    if (this.firstMs === undefined || first < this.firstMs) this.firstMs = first;
    if (this.lastMs === undefined || last > this.lastMs) this.lastMs = last;
  }
}

function count(counts: Map<string, number>, value: string, number: number): void {
  counts.set(value, (counts.get(value) ?? 0) + number);
}

function facetValue(log: LogRecord, name: string): string | undefined {
  if (name === "level") return log.severityText;
  if (name === "service") return log.resource.service;
  if (name === "function_id") return functionOf(log);
  if (name === "worker") return workerOf(log);
  const value = attributeOf(log.attributes, name) ?? fieldOf(log, name);
  return value === undefined || value === null ? undefined : textOfValue(value).slice(0, 256);
}
