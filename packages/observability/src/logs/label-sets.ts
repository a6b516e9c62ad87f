import type { AttributeValue } from "@svc-runtime/engine/module";
import type { LogRecord } from "../telemetry-records.ts";
import { type LogFilter, NO_FILTER } from "./log-filter.ts";
import { type RedactAttributes, redactRecord } from "./log-json.ts";

/** Maximum number of shared label sets, and of characters in the key of one: less than 7 MB together. */
const MAX_SETS = 1_000;
const MAX_KEY_CHARACTERS = 1_024;

/** Facets that read only labels. */
export const LABEL_FACETS: readonly string[] = ["level", "service", "function_id", "worker"];
/** Attributes that these facets read, and filters by function and worker. */
const ATTRIBUTES = ["svc.function_id", "function_id", "svc.worker.name", "svc.worker.id", "worker_id"] as const;
/** Members of a filter that read only labels, or nothing of an entry. */
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

/** The labels of an entry, or of many entries with the same ones: level, service, function and worker. */
export class LabelSet {
  /** A record with at least these members. */
  readonly log: LogRecord;
  readonly key: string;
  /** Number of entries that share it. */
  entries = 0;
  /** Used while entries are counted: faster than a map. */
  count: { readonly tally: object; readonly matches: boolean; more: number } | undefined;
  #shown: LogRecord | undefined;
  #redact: RedactAttributes | undefined;

  constructor(log: LogRecord, key = "") {
    this.log = log;
    this.key = key;
  }

  /** Returns the record as it may be shown. The result is cached for the last `redact`. */
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
   * Returns the label set of an entry, until `release`. Undefined if there are too many, or if an attribute is too long
   * or not a string.
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

  /** Called once for each entry that no longer needs it. */
  release(labels: LabelSet): void {
    labels.entries -= 1;
    if (labels.entries === 0) this.#sets.delete(labels.key);
  }
}

/** Returns the label set of an entry that does not share it. */
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

/** Returns the same key only for the same labels. */
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

/** The length separates the value from the next one, whatever it contains. */
function keyPart(value: string | undefined): string {
  return value === undefined ? "-" : `${value.length}:${value}`;
}
