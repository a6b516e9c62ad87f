import { plural, t } from "../../labels/translate.ts";
import { kindOf, type TriggerItem } from "../../model/triggers.ts";
import { configText, topicOf } from "./model.ts";

/** How to fire an event or queue trigger: the function of the engine to call, and the event, topic or queue. */
export interface PublishTarget {
  readonly kind: "event" | "topic" | "queue";
  readonly functionId: "event::emit" | "svc::durable::publish" | "queue::enqueue";
  /** Member of the payload that names the target. */
  readonly member: "event" | "topic" | "queue";
  readonly label: string;
  readonly action: string;
  /** Name or pattern in the config of the trigger. */
  readonly name: string;
  /** True if `name` is a pattern. An event then needs a name without `*`. */
  readonly isPattern: boolean;
}

export function publishTargetOf(trigger: TriggerItem): PublishTarget {
  if (kindOf(trigger.trigger_type) === "event") {
    const name = topicOf(trigger);
    return {
      kind: "event",
      functionId: "event::emit",
      member: "event",
      label: t`Event`,
      action: t`Emit`,
      name,
      isPattern: name.includes("*"),
    };
  }
  const queue = configText(trigger, "queue");
  if (queue !== undefined)
    return {
      kind: "queue",
      functionId: "queue::enqueue",
      member: "queue",
      label: t`Queue`,
      action: t`Publish`,
      name: queue,
      isPattern: false,
    };
  const topic = configText(trigger, "topic") ?? "";
  return {
    kind: "topic",
    functionId: "svc::durable::publish",
    member: "topic",
    label: t`Topic`,
    action: t`Publish`,
    name: topic,
    isPattern: false,
  };
}

/**
 * Builds the payload for the engine's function. `data` is inserted as it was typed, so that large numbers keep all
 * their digits.
 */
export function publishPayload({ member }: PublishTarget, name: string, data: string): string {
  return `{${JSON.stringify(member)}:${JSON.stringify(name)},"data":${data.trim()}}`;
}

/** Returns a message about the result of the engine's function. */
export function publishedText({ kind }: PublishTarget, result: unknown): string {
  const facts = (typeof result === "object" && result !== null ? result : {}) as Readonly<Record<string, unknown>>;
  const count = ["delivered_to", "subscriptions"]
    .map((name) => facts[name])
    .find((value) => typeof value === "number") as number | undefined;
  if (kind === "event")
    return count === undefined
      ? "Published."
      : count === 0
        ? t`Published; no trigger received it.`
        : plural(count, "Published; # trigger received it.", "Published; # triggers received it.");
  if (kind === "topic")
    return count === undefined
      ? "Published."
      : plural(count, "Published to # subscription.", "Published to # subscriptions.");
  return typeof facts.job_id === "string" ? t`Enqueued as job ${facts.job_id}.` : "Enqueued.";
}
