import type { TriggerListing } from "@svc-runtime/protocol/listings";

/** A trigger, in the form of the stream `svc.triggers`. */
export type TriggerItem = Omit<TriggerListing, "made_by">;

export type Kind = "http" | "cron" | "queue" | "event" | "state" | "other";

const KIND_OF_TYPE: Readonly<Record<string, Kind>> = {
  http: "http",
  cron: "cron",
  queue: "queue",
  "durable:subscriber": "queue",
  event: "event",
  subscribe: "event",
  state: "state",
  "state:created": "state",
  "state:updated": "state",
  "state:deleted": "state",
};

/** Returns the group of a trigger type. Trigger types of workers, streams and telemetry are in the group `other`. */
export function kindOf(type: string): Kind {
  return Object.hasOwn(KIND_OF_TYPE, type) ? (KIND_OF_TYPE[type] as Kind) : "other";
}

/** Returns the expression of a cron trigger. Returns undefined for other triggers. */
export function cronExpressionOf({
  trigger_type,
  config,
}: Pick<TriggerItem, "trigger_type" | "config">): string | undefined {
  if (trigger_type !== "cron" || typeof config !== "object" || config === null) return undefined;
  const { expression } = config as { readonly expression?: unknown };
  return typeof expression === "string" ? expression : undefined;
}

/** Returns the label of a trigger: `POST /orders`, a cron expression, a topic, … */
export function triggerLabel({ trigger_type, config }: Pick<TriggerItem, "trigger_type" | "config">): string {
  const facts: Readonly<Record<string, unknown>> =
    typeof config === "object" && config !== null ? (config as Readonly<Record<string, unknown>>) : {};
  const text = (...names: readonly string[]): string | undefined => {
    for (const name of names) if (typeof facts[name] === "string") return facts[name];
    return undefined;
  };
  if (trigger_type === "http") return `${text("http_method") ?? "GET"} ${text("api_path") ?? "/"}`;
  return text("expression", "topic", "queue", "event", "scope", "stream_name") ?? trigger_type;
}
