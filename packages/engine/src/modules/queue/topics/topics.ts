import { randomUUID } from "node:crypto";
import { backoffMs, CallError, type Payload } from "@svc/protocol";
import { UNAVAILABLE_BACKOFF } from "../../../deliveries/call-failure.ts";
import type { Logger } from "../../../kernel/logger.ts";
import { overQuota, type Principal } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { JobServer, QueueCore } from "../queue-core.ts";
import type { QueueSettings } from "../queue-settings.ts";
import type { Maker } from "../store/job.ts";
import { sharesOf } from "../store/share-limits.ts";
import type { Subscription } from "../store/topic.ts";
import { BACKLOG_BOUNDS, Backlog, type Trace } from "./backlog.ts";
import { queueOfSubscription } from "./queue-name.ts";
import { groupOf, type SubscriptionConfig, settingsOfSubscription, subscriptionConfigSchema } from "./subscription-config.ts";

/** A subscription that no trigger asks for is forgotten after so long, and what waits for it. */
export const FORGET_AFTER_MS = 7 * 24 * 3_600_000;

const SWEEP_MS = 3_600_000;
const MAX_SUBSCRIPTIONS = 10_000;
/** A subscription that is full is not logged about more often. */
const WARN_EVERY_MS = 60_000;

interface Known {
  readonly topic: string;
  readonly functionId: string;
  readonly queue: string;
  config: SubscriptionConfig;
  settings: QueueSettings;
  seenAt: number;
  /** The restricted principal that subscribed; empty: a trusted worker did. */
  owner: string;
  /** When it was said last that it is full, by the monotonic clock. */
  warnedAt: number;
  /** Set while a trigger asks for it. */
  server: JobServer | undefined;
  undeclare: Undo;
}

export interface TopicsParts {
  readonly core: QueueCore;
  readonly log: Logger;
  /** What a subscription does not say. */
  readonly base: QueueSettings;
}

/** What `publish` answers. */
export interface Published {
  readonly messageId: string;
  /** Each has a job of its own; 0: the message waits for the first one. */
  readonly subscriptions: number;
}

/**
 * Messages by topic, one job for each subscription. A subscription is a topic and a function, and lasts over restarts of both sides: what is
 * published meanwhile waits on its queue. What is published before there is any waits in the topic's backlog.
 *
 * What is known here is ahead of the store by what is on its way there, and the store does one thing after another: so a message goes to the backlog
 * before a subscription takes it, or to the subscription's queue after that.
 */
export class Topics {
  readonly #parts: TopicsParts;
  readonly #byTopic = new Map<string, Map<string, Known>>();
  readonly #backlog: Backlog;
  readonly #timers = new Set<() => void>();
  #base: QueueSettings;
  #count = 0;
  #stopped = false;
  #unlisten: Undo = () => {};

  constructor(parts: TopicsParts) {
    this.#parts = parts;
    this.#base = parts.base;
    this.#backlog = new Backlog({ store: parts.core.store, clock: parts.core.clock, log: parts.log });
  }

  /** Takes up the subscriptions of earlier runs. */
  async start(): Promise<void> {
    const { core, log } = this.#parts;
    for (const subscription of await core.store.call("subscriptions", null)) {
      const config = configOf(subscription);
      if (config === undefined) log.warn("a subscription's config is not understood; it goes by the defaults until its trigger is there", { ...subscription });
      this.#add({ ...subscription, config: config ?? {} });
    }
    this.#unlisten = core.onClockJump((byMs) => {
      for (const known of this.#all()) known.seenAt += byMs;
    });
    this.#sweepLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#unlisten();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  names(): readonly string[] {
    return [...this.#byTopic.keys()];
  }

  /** Queues of the topic's subscriptions; none when nobody ever subscribed. */
  queuesOf(topic: string): readonly string[] {
    return [...(this.#byTopic.get(topic)?.values() ?? [])].map(({ queue }) => queue);
  }

  /** How many of its subscriptions have somebody who takes messages at present. */
  consumersOf(topic: string): number {
    let there = 0;
    for (const { server } of this.#byTopic.get(topic)?.values() ?? []) if (server?.isAway() === false) there += 1;
    return there;
  }

  /** Resolves when the message is on the disk for every subscription, or in the backlog. */
  async publish(topic: string, data: Payload, trace: Trace, maker: Maker | undefined): Promise<Published> {
    const { core } = this.#parts;
    const messageId = randomUUID();
    const known = [...(this.#byTopic.get(topic)?.values() ?? [])];
    if (known.length === 0) {
      await this.#backlog.keep(messageId, topic, data, trace, { maker, maxBytes: this.#base.maxJobBytes });
      return { messageId, subscriptions: 0 };
    }
    const added = await core.add(
      known.map(({ queue, functionId, config, owner }) => ({
        id: `${messageId}/${functionId}`,
        queue,
        functionId: undefined,
        data,
        group: groupOf(config),
        maker,
        // A restricted subscriber that does not keep up must not have the messages of others refused.
        mayBeDropped: owner !== "" && owner !== (maker?.principal ?? ""),
        ...trace,
      })),
    );
    const full = known.filter((_, index) => added[index]?.dropped !== undefined);
    for (const subscription of full) this.#warnOfFull(subscription);
    return { messageId, subscriptions: known.length - full.length };
  }

  /** A trigger asks for a topic's messages; `config` holds from now on. The undo leaves the subscription, without anybody to serve it. */
  subscribe(topic: string, functionId: string, config: SubscriptionConfig, server: JobServer, principal: Principal): Undo {
    const { core } = this.#parts;
    const found = this.#byTopic.get(topic)?.get(functionId);
    const owner = ownerOf(principal);
    // It would change how the other's messages are delivered, and end the subscription by leaving it.
    if (found !== undefined && owner !== "" && found.owner !== owner) {
      const whose = found.owner === "" ? "a trusted worker" : "another principal";
      throw new CallError("FORBIDDEN", takenSubscription(topic, functionId, whose));
    }
    if (found === undefined) this.#refuseBeyondShare(owner);
    if (found === undefined && this.#count >= MAX_SUBSCRIPTIONS) {
      throw new CallError("overloaded", `there are ${MAX_SUBSCRIPTIONS} subscriptions to topics, which is the limit`, {
        details: { limit: MAX_SUBSCRIPTIONS },
      });
    }
    const known = found ?? this.#add({ topic, functionId, config, owner, seenAt: core.clock.now() });
    // A trusted worker becomes the owner of a subscription of others.
    known.owner = owner;
    this.#configure(known, config);
    known.server = server;
    const unserve = core.serve(known.queue, server);
    this.#remember(known, 1);
    return () => {
      unserve();
      if (known.server === server) known.server = undefined;
      known.seenAt = core.clock.now();
    };
  }

  /** A trusted worker asks for a subscription of others as it is: it becomes the owner. */
  takeOver(topic: string, functionId: string): void {
    const known = this.#byTopic.get(topic)?.get(functionId);
    if (known === undefined || known.owner === "") return;
    known.owner = "";
    this.#remember(known, 1);
  }

  #refuseBeyondShare(owner: string): void {
    if (owner === "") return;
    const { each, restricted } = sharesOf(MAX_SUBSCRIPTIONS);
    let own = 0;
    let all = 0;
    for (const known of this.#all()) {
      if (known.owner !== "") all += 1;
      if (known.owner === owner) own += 1;
    }
    if (own >= each) throw overQuota(`all connections of ${owner} together have ${own} subscriptions to topics of ${each}`);
    if (all >= restricted) throw overQuota(`all restricted connections together have ${all} subscriptions to topics of ${restricted}`);
  }

  #warnOfFull(known: Known): void {
    const { core, log } = this.#parts;
    const now = core.clock.monotonic();
    if (now - known.warnedAt < WARN_EVERY_MS) return;
    known.warnedAt = now;
    const { topic, functionId, owner } = known;
    log.warn("the subscription of a restricted connection is full; messages for it are dropped", { topic, functionId, principal: owner });
  }

  /** Ends the principal's subscription: what waits for it is dropped; dead letters stay. One of somebody else lasts. */
  unsubscribe(topic: string, functionId: string, principal: Principal): void {
    const known = this.#byTopic.get(topic)?.get(functionId);
    if (known === undefined || known.owner !== ownerOf(principal)) return;
    this.#forget(known).then(
      (messages) => {
        if (messages > 0) this.#parts.log.info("a subscription was taken back; messages that waited for it are dropped", { topic, functionId, messages });
      },
      // It lasts, and is taken back when nobody asks for it for a while.
      (error: unknown) => this.#parts.log.warn("a subscription cannot be forgotten at present", { topic, functionId, error }),
    );
  }

  /** What subscriptions do not say is now this. */
  rebase(base: QueueSettings): void {
    this.#base = base;
    for (const known of this.#all()) this.#configure(known, known.config);
  }

  *#all(): Generator<Known> {
    for (const ofTopic of this.#byTopic.values()) yield* ofTopic.values();
  }

  #add({ topic, functionId, config, seenAt, owner }: Omit<Subscription, "config"> & { readonly config: SubscriptionConfig }): Known {
    const { core } = this.#parts;
    const queue = queueOfSubscription(topic, functionId);
    const settings = settingsOfSubscription(config, this.#base);
    const own = { topic, functionId, queue, config, settings, seenAt, owner, warnedAt: Number.NEGATIVE_INFINITY };
    const known: Known = { ...own, server: undefined, undeclare: core.declare(queue, settings) };
    const ofTopic = this.#byTopic.get(topic) ?? new Map<string, Known>();
    this.#byTopic.set(topic, ofTopic.set(functionId, known));
    this.#count += 1;
    return known;
  }

  #configure(known: Known, config: SubscriptionConfig): void {
    const { core } = this.#parts;
    const settings = settingsOfSubscription(config, this.#base);
    known.config = config;
    if (JSON.stringify(settings) === JSON.stringify(known.settings)) return;
    known.undeclare();
    known.settings = settings;
    known.undeclare = core.declare(known.queue, settings);
    if (known.server !== undefined) core.serve(known.queue, known.server);
  }

  /** Until the store has it: messages that wait must not wait for the next start. */
  #remember(known: Known, attempt: number): void {
    const { core, log } = this.#parts;
    const { topic, functionId, queue, config, settings, owner } = known;
    const { delayMs, maxAttempts, dedupeWindowMs } = settings;
    const now = core.clock.now();
    const job = {
      queue,
      functionId: undefined,
      runAt: delayMs > 0 ? now + delayMs : undefined,
      priority: 0,
      group: groupOf(config),
      maxAttempts,
      dedupeWindowMs,
      // The backlog is bounded, and was accepted.
      limits: { maxDepth: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER, maxDead: Number.MAX_SAFE_INTEGER },
    };
    core.store.call("subscribe", { topic, functionId, config: JSON.stringify(config), owner, now, ageMs: BACKLOG_BOUNDS.ageMs, job }).then(
      (messages) => {
        if (messages > 0) log.info("messages that were published before anybody subscribed are delivered", { topic, functionId, messages });
        if (messages > 0) core.wake(queue);
      },
      (error: unknown) => {
        if (this.#stopped) return;
        if (attempt === 1) log.warn("a subscription cannot be stored at present", { topic, functionId, error });
        this.#after(backoffMs(UNAVAILABLE_BACKOFF, attempt), () => {
          if (this.#byTopic.get(topic)?.get(functionId) === known) this.#remember(known, attempt + 1);
        });
      },
    );
  }

  async #forget(known: Known): Promise<number> {
    const { core } = this.#parts;
    const { topic, functionId, queue } = known;
    const ofTopic = this.#byTopic.get(topic);
    if (ofTopic?.get(functionId) !== known) return 0;
    ofTopic.delete(functionId);
    if (ofTopic.size === 0) this.#byTopic.delete(topic);
    this.#count -= 1;
    known.undeclare();
    await core.store.call("unsubscribe", { topic, functionId });
    // Somebody may have subscribed anew meanwhile; then it waits for him.
    return this.#byTopic.get(topic)?.has(functionId) === true ? 0 : core.purge(queue);
  }

  #sweepLater(): void {
    this.#after(SWEEP_MS, () => {
      void this.#sweep().finally(() => {
        if (!this.#stopped) this.#sweepLater();
      });
    });
  }

  /** Forgets subscriptions that nobody asks for, and messages nobody subscribed to. Triggers have had an hour to come back after a start. */
  async #sweep(): Promise<void> {
    const { core, log } = this.#parts;
    const now = core.clock.now();
    try {
      const served = [...this.#all()].filter(({ server }) => server !== undefined);
      for (const known of served) known.seenAt = now;
      if (served.length > 0) await core.store.call("seen", { subscriptions: served.map(({ topic, functionId }) => ({ topic, functionId })), now });
      for (const known of [...this.#all()]) {
        if (known.server !== undefined || now - known.seenAt < FORGET_AFTER_MS) continue;
        const { topic, functionId } = known;
        log.warn("nobody asked for a subscription for a week; it is forgotten, and what waits for it", {
          topic,
          functionId,
          messages: await this.#forget(known),
        });
      }
      await this.#backlog.dropOld(now);
    } catch (error) {
      if (!this.#stopped) log.warn("subscriptions cannot be looked through at present", { error });
    }
  }

  #after(ms: number, action: () => void): void {
    const cancel = this.#parts.core.clock.after(ms, () => {
      this.#timers.delete(cancel);
      action();
    });
    this.#timers.add(cancel);
  }
}

export function takenSubscription(topic: string, functionId: string, whose: string): string {
  return `the subscription of ${functionId} to the topic ${topic} belongs to ${whose}; subscribe a function of your own`;
}

function ownerOf({ id, isTrusted }: Principal): string {
  return isTrusted ? "" : id;
}

function configOf({ config }: Subscription): SubscriptionConfig | undefined {
  try {
    const parsed = subscriptionConfigSchema.safeParse(JSON.parse(config));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
