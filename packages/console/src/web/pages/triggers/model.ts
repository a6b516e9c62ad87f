import { t } from "../../labels/translate.ts";
import { type Kind, kindOf, type TriggerItem } from "../../model/triggers.ts";
import type { Tone } from "../../ui/badge.tsx";

export const KINDS: readonly { readonly value: Kind; readonly label: string }[] = [
  { value: "http", label: t`HTTP` },
  { value: "cron", label: t`CRON` },
  { value: "queue", label: t`QUEUE` },
  { value: "event", label: t`Event` },
  { value: "state", label: t`State` },
  { value: "other", label: t`Other` },
];

export const STATUS: Readonly<Record<TriggerItem["status"], { readonly label: string; readonly tone: Tone }>> = {
  active: { label: t`Active`, tone: "ok" },
  inactive: { label: t`Inactive`, tone: "warn" },
  error: { label: t`Error`, tone: "danger" },
};

/** Returns the first of these members of the config that is a string and not empty. */
export function configText(trigger: Pick<TriggerItem, "config">, ...names: readonly string[]): string | undefined {
  const { config } = trigger;
  if (typeof config !== "object" || config === null) return undefined;
  for (const name of names) {
    const value = Object.hasOwn(config, name) ? (config as Readonly<Record<string, unknown>>)[name] : undefined;
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

export function httpMethod(trigger: Pick<TriggerItem, "config">): string {
  return (configText(trigger, "http_method") ?? "GET").toUpperCase();
}

export function httpPath(trigger: Pick<TriggerItem, "config">): string {
  const path = configText(trigger, "api_path") ?? "";
  return path.startsWith("/") ? path : `/${path}`;
}

/** Returns the topic or pattern of an event trigger. */
export function topicOf(trigger: Pick<TriggerItem, "config">): string {
  return configText(trigger, "topic", "event", "event_name") ?? "";
}

const MAX_SUMMARY = 160;

/** Returns one line that says when the trigger fires: its path, schedule, queue, topic or scope. */
export function summaryOf(trigger: TriggerItem): string {
  switch (kindOf(trigger.trigger_type)) {
    case "http":
      return `${httpMethod(trigger)} ${httpPath(trigger)}`;
    case "cron":
      return [configText(trigger, "expression") ?? "", configText(trigger, "timezone")]
        .filter((part) => part !== undefined)
        .join(" · ");
    case "queue":
      return configText(trigger, "queue", "topic") ?? "";
    case "event":
      return topicOf(trigger);
    case "state":
      return stateSummary(trigger);
    default: {
      const text = JSON.stringify(trigger.config) ?? "";
      return text.length > MAX_SUMMARY ? `${text.slice(0, MAX_SUMMARY)}…` : text;
    }
  }
}

function stateSummary(trigger: TriggerItem): string {
  const scope = configText(trigger, "scope");
  const key = configText(trigger, "key");
  const prefix = configText(trigger, "prefix");
  const { event_types: kinds } = (trigger.config ?? {}) as { readonly event_types?: unknown };
  const changes = Array.isArray(kinds) ? kinds.map(String).join(", ") : undefined;
  const place = key !== undefined ? t`key ${key}` : prefix !== undefined ? t`keys ${prefix}…` : undefined;
  return [scope === undefined ? t`any scope` : t`scope ${scope}`, place, changes]
    .filter((part) => part !== undefined)
    .join(" · ");
}

interface TriggerFilter {
  readonly q: string;
  readonly system: boolean;
}

/**
 * Returns the triggers that match the search, sorted by their summary. Each word of the search must occur in one of
 * these: type, function, summary, description, worker, status, id.
 */
export function filterTriggers(items: readonly TriggerItem[], { q, system }: TriggerFilter): readonly TriggerItem[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return items
    .filter((trigger) => {
      if (!system && trigger.internal) return false;
      const text = [
        trigger.trigger_type,
        trigger.function_id,
        summaryOf(trigger),
        configText(trigger, "description") ?? "",
        trigger.worker_name,
        trigger.status,
        trigger.id,
      ]
        .join("\n")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => compare(summaryOf(a), summaryOf(b)) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the triggers of a kind, or all if `kind` is undefined. */
export function ofKind(items: readonly TriggerItem[], kind: Kind | undefined): readonly TriggerItem[] {
  return kind === undefined ? items : items.filter(({ trigger_type }) => kindOf(trigger_type) === kind);
}

/** Counts the triggers by kind. */
export function countKinds(items: readonly TriggerItem[]): Readonly<Record<Kind, number>> {
  const counts = { http: 0, cron: 0, queue: 0, event: 0, state: 0, other: 0 };
  for (const { trigger_type } of items) counts[kindOf(trigger_type)]++;
  return counts;
}

export type TriggerRow =
  | {
      readonly row: "section";
      readonly kind: Kind;
      readonly label: string;
      readonly count: number;
      readonly isOpen: boolean;
    }
  | { readonly row: "trigger"; readonly trigger: TriggerItem };

/** Returns the sections that are not empty. Each is followed by its triggers, unless it is closed. */
export function sectionRows(items: readonly TriggerItem[], closed: ReadonlySet<Kind>): readonly TriggerRow[] {
  return KINDS.flatMap(({ value, label }): TriggerRow[] => {
    const own = ofKind(items, value);
    if (own.length === 0) return [];
    const isOpen = !closed.has(value);
    return [
      { row: "section", kind: value, label, count: own.length, isOpen },
      ...(isOpen ? own.map((trigger): TriggerRow => ({ row: "trigger", trigger })) : []),
    ];
  });
}
