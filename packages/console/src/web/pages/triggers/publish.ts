import { kindOf, type TriggerItem } from "../../model/triggers.ts";
import { configText, topicOf } from "./model.ts";

/** How what a trigger waits for is brought about: the engine's function, and under which name it takes the target. */
export interface Publishing {
  readonly kind: "event" | "topic" | "queue";
  readonly functionId: "event::emit" | "svc::durable::publish" | "queue::enqueue";
  readonly member: "event" | "topic" | "queue";
  readonly label: string;
  readonly action: "Emit" | "Publish";
  /** As the trigger has it. */
  readonly target: string;
  /** The target is a pattern: what is published needs a name without `*`. */
  readonly isPattern: boolean;
}

export function publishingOf(trigger: TriggerItem): Publishing {
  if (kindOf(trigger.trigger_type) === "event") {
    const target = topicOf(trigger);
    return { kind: "event", functionId: "event::emit", member: "event", label: "Event", action: "Emit", target, isPattern: target.includes("*") };
  }
  const queue = configText(trigger, "queue");
  if (queue !== undefined)
    return { kind: "queue", functionId: "queue::enqueue", member: "queue", label: "Queue", action: "Publish", target: queue, isPattern: false };
  const topic = configText(trigger, "topic") ?? "";
  return { kind: "topic", functionId: "svc::durable::publish", member: "topic", label: "Topic", action: "Publish", target: topic, isPattern: false };
}

/** The payload for the engine's function; `data` goes as it was typed, to the digit. */
export function publishPayload({ member }: Publishing, target: string, data: string): string {
  return `{${JSON.stringify(member)}:${JSON.stringify(target)},"data":${data.trim()}}`;
}

/** What the function said, for people. */
export function publishedText({ kind }: Publishing, answer: unknown): string {
  const facts = (typeof answer === "object" && answer !== null ? answer : {}) as Readonly<Record<string, unknown>>;
  const count = ["delivered_to", "subscriptions"].map((name) => facts[name]).find((value) => typeof value === "number") as number | undefined;
  if (kind === "event")
    return count === undefined
      ? "Published."
      : count === 0
        ? "Published; no trigger took it."
        : `Published; ${count} ${count === 1 ? "trigger" : "triggers"} took it.`;
  if (kind === "topic") return count === undefined ? "Published." : `Published to ${count} ${count === 1 ? "subscription" : "subscriptions"}.`;
  return typeof facts.job_id === "string" ? `On the queue as job ${facts.job_id}.` : "On the queue.";
}
