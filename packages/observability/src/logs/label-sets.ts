import type { AttributeValue } from "@svc-runtime/engine/module";
import type { LogRecord } from "../telemetry-records.ts";
import { type LogFilter, NO_FILTER } from "./log-filter.ts";
import { type RedactAttributes, redactRecord } from "./log-json.ts";

/** Maximum number of shared label sets. With `MAX_KEY_CHARACTERS`, they use less than 7 MB together. */
const MAX_SETS = 1_000;
const MAX_KEY_CHARACTERS = 1_024;

/** Facets that read only labels. */
export const LABEL_FACETS: readonly string[] = ["level", "service", "function_id", "worker"];
/** Attributes that the facets by function and worker read, and the filters by function and worker. */
const ATTRIBUTES = ["svc.function_id", "function_id", "svc.worker.name", "svc.worker.id", "worker_id"] as const;
/** Members of a filter that read only labels, and members that read nothing of an entry. */
const LABEL_MEMBERS: ReadonlySet<string> = new Set<keyof LogFilter>([
  "severityMin",
  "levels",
  "services",
  "excludeServices",
  "functionId",
  "worker",
  "groups",
  "redactKeys",
]);
const OTHER_MEMBERS = (Object.keys(NO_FILTER) as (keyof LogFilter)[]).filter((name) => !LABEL_MEMBERS.has(name));

export function areLabelFacets(facets: readonly string[]): boolean {
  return facets.every((name) => LABEL_FACETS.includes(name));
}

/** Returns whether the filter reads only labels. */
export function filtersOnlyLabels(filter: LogFilter): boolean {
  return (
    OTHER_MEMBERS.every((name) => filter[name] === undefined || (name === "filters" && filter.filters.length === 0)) &&
    filter.groups.every(({ any }) => any.every(filtersOnlyLabels))
  );
}

/** The labels of an entry: level, service, function and worker. Many entries with equal labels can share one set. */
export class LabelSet {
  /** A log record whose labels are those of the set. Its other members are not used. */
  readonly log: LogRecord;
  readonly key: string;
  /** Number of entries that share the set. */
  entries = 0;
  /** Intermediate count while entries are counted. A member of the set is faster than a map. */
  count: { readonly tally: object; readonly matches: boolean; more: number } | undefined;
  #shown: LogRecord | undefined;
  #redact: RedactAttributes | undefined;

  constructor(log: LogRecord, key = "") {
    this.log = log;
    this.key = key;
  }

  /** Returns the record with secrets masked by `redact`. The result is cached for the last `redact`. */
  shown(redact: RedactAttributes): LogRecord {
    if (this.#shown === undefined || this.#redact !== redact) {
      this.#shown = redactRecord(this.log, redact);
      this.#redact = redact;
    }
    return this.#shown;
  }
}

/** Shares label sets between entries. */
export class LabelSets {
  readonly #sets = new Map<string, LabelSet>();

  /**
   * Returns the label set of an entry, which the entry uses until `release`. Returns undefined in two cases: there are
   * too many sets, or an attribute is too long or not a string.
   */
  share(log: LogRecord): LabelSet | undefined {
    const key = keyOf(log);
    if (key === undefined) return undefined;
    let labels = this.#sets.get(key);
    if (labels === undefined) {
      if (this.#sets.size >= MAX_SETS) return undefined;
      labels = new LabelSet(onlyLabels(log), key);
      this.#sets.set(key, labels);
    }
    labels.entries += 1;
    return labels;
  }

  /** Called once for each entry that no longer needs the set. */
  release(labels: LabelSet): void {
    labels.entries -= 1;
    if (labels.entries === 0) this.#sets.delete(labels.key);
  }
}

/** Returns a label set for an entry that does not share one. */
export function ownLabels(log: LogRecord): LabelSet {
  return new LabelSet(onlyLabels(log));
}

function onlyLabels({ severityNumber, severityText, resource, attributes: all }: LogRecord): LogRecord {
  const attributes: Record<string, AttributeValue> = {};
  for (const name of ATTRIBUTES) if (Object.hasOwn(all, name)) attributes[name] = all[name] as AttributeValue;
  return {
    timeUnixNano: 0n,
    observedUnixNano: 0n,
    severityNumber,
    severityText,
    body: "",
    attributes,
    traceId: undefined,
    spanId: undefined,
    resource: { service: resource.service, workerId: resource.workerId, attributes: {} },
    scopeName: undefined,
    scopeVersion: undefined,
  };
}

/** Returns a key that is equal for equal labels only. */
function keyOf({ severityNumber, severityText, resource, attributes }: LogRecord): string | undefined {
  let key = `${severityNumber}${severityText}${keyPart(resource.service)}${keyPart(resource.workerId)}`;
  for (const name of ATTRIBUTES) {
    if (!Object.hasOwn(attributes, name)) {
      key += keyPart(undefined);
      continue;
    }
    const value = attributes[name];
    if (typeof value !== "string") return undefined;
    key += keyPart(value);
  }
  return key.length > MAX_KEY_CHARACTERS ? undefined : key;
}

/** Puts the length before the value, so that the value cannot run into the next one, whatever it contains. */
function keyPart(value: string | undefined): string {
  return value === undefined ? "-" : `${value.length}:${value}`;
}
