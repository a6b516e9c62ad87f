import { randomUUID } from "node:crypto";
import { backoffMs, CallError, type Payload } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../../deliveries/call-failure.ts";
import type { Logger } from "../../../kernel/logger.ts";
import { overQuota, type Principal } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { AppliedWrite } from "../../../kernel/store-contract.ts";
import { inBatches } from "../in-batches.ts";
import type { JobServer, QueueCore } from "../queue-core.ts";
import type { QueueSettings } from "../queue-settings.ts";
import type { Trace } from "../spans.ts";
import type { Maker } from "../store/job.ts";
import type { JobProcedures } from "../store/queue-store.ts";
import { sharesOf } from "../store/share-limits.ts";
import type { Subscription } from "../store/topic.ts";
import { BACKLOG_BOUNDS, Backlog } from "./backlog.ts";
import { queueOfSubscription } from "./queue-name.ts";
import {
  groupOf,
  type SubscriptionConfig,
  settingsOfSubscription,
  subscriptionConfigSchema,
} from "./subscription-config.ts";

/** A subscription without a trigger is deleted after this time, with its waiting messages. */
export const FORGET_AFTER_MS = 7 * 24 * 3_600_000;

const SWEEP_MS = 3_600_000;
const MAX_SUBSCRIPTIONS = 10_000;
/** Minimum time between two warnings about one full subscription. */
const WARN_EVERY_MS = 60_000;

interface Known {
  readonly topic: string;
  readonly functionId: string;
  readonly queue: string;
  config: SubscriptionConfig;
  settings: QueueSettings;
  /** Monotonic time when the subscription last had a trigger. It may be negative, if that was before this run. */
  seenAt: number;
  /** The restricted principal that subscribed. Empty: a trusted worker did. */
  owner: string;
  /** Monotonic time of the last warning that the queue of the subscription is full. */
  warnedAt: number;
  /** Set while the subscription has a trigger. */
  server: JobServer | undefined;
  undeclare: Undo;
}

export interface TopicsParts {
  readonly core: QueueCore;
  readonly log: Logger;
  /** Settings for keys that a subscription does not set. */
  readonly base: QueueSettings;
}

/** Result of `publish`. */
export interface Published {
  readonly messageId: string;
  /** Number of subscriptions that got a job. 0: the message waits for the first subscription. */
  readonly subscriptions: number;
}

/**
 * Durable topics: each message becomes one job per subscription. A subscription is a topic and a function. It survives
 * restarts of worker and engine; messages that are published during a restart wait on its queue. Messages published
 * before the first subscription wait in the topic's backlog.
 *
 * The state here is newer than the state of the store while calls to the store are in progress. The store runs calls in
 * order. So no message is lost when a topic gets its first subscription: a message enters the backlog before the
 * subscription takes the backlog over, or it enters the queue of the subscription afterwards.
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

  /** Loads the subscriptions of earlier runs. */
  async start(): Promise<void> {
    const { core, log } = this.#parts;
    this.#unlisten = core.store.onApplied((applied) => {
      if (!applied.isOwn || this.#isAhead(applied)) this.#follow(applied);
    });
    for (const subscription of await core.store.call("subscriptions", null)) {
      const config = configOf(subscription);
      if (config === undefined)
        log.warn("invalid config of a stored subscription; using the defaults until its trigger is registered", {
          ...subscription,
        });
      // Another engine may have stored this subscription during the start, and `#follow` has added it then.
      if (this.#byTopic.get(subscription.topic)?.has(subscription.functionId) === true) continue;
      const seenAt = core.clock.monotonic() - subscription.unseenMs;
      this.#add({ ...subscription, config: config ?? {}, seenAt });
    }
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

  /** Returns the queues of the topic's subscriptions. */
  queuesOf(topic: string): readonly string[] {
    return [...(this.#byTopic.get(topic)?.values() ?? [])].map(({ queue }) => queue);
  }

  /** Returns how many of the topic's subscriptions currently have an available worker. */
  consumersOf(topic: string): number {
    let available = 0;
    for (const { server } of this.#byTopic.get(topic)?.values() ?? []) if (server?.isAway() === false) available += 1;
    return available;
  }

  /** Publishes a message. Resolves when it is on disk for every subscription, or in the backlog. */
  async publish(topic: string, data: Payload, trace: Trace, maker: Maker | undefined): Promise<Published> {
    const { core } = this.#parts;
    const messageId = randomUUID();
    const known = [...(this.#byTopic.get(topic)?.values() ?? [])];
    if (known.length === 0) {
      const limits = { maker, maxBytes: this.#base.maxJobBytes };
      if (await this.#backlog.keep(messageId, topic, data, trace, limits)) return { messageId, subscriptions: 0 };
      // Another engine has stored a subscription to the topic, and this engine has applied that write by now.
      known.push(...(this.#byTopic.get(topic)?.values() ?? []));
      if (known.length === 0)
        throw new CallError("overloaded", `the subscriptions to ${topic} just changed; try again`);
    }
    const added = await core.add(
      known.map(({ queue, functionId, config, owner }) => ({
        id: `${messageId}/${functionId}`,
        queue,
        functionId: undefined,
        data,
        group: groupOf(config),
        maker,
        // A slow restricted subscriber must not make publishing fail for others.
        mayBeDropped: owner !== "" && owner !== (maker?.principal ?? ""),
      })),
      trace,
    );
    const full = known.filter((_, index) => added[index]?.dropped !== undefined);
    for (const subscription of full) this.#warnOfFull(subscription);
    return { messageId, subscriptions: known.length - full.length };
  }

  /**
   * Subscribes a trigger's function to a topic. `config` replaces the subscription's config. The undo removes the
   * server but keeps the subscription.
   */
  subscribe(
    topic: string,
    functionId: string,
    config: SubscriptionConfig,
    server: JobServer,
    principal: Principal,
  ): Undo {
    const { core } = this.#parts;
    const found = this.#byTopic.get(topic)?.get(functionId);
    const owner = ownerOf(principal);
    // If this were allowed, the caller could change how the owner's messages are delivered, and end the subscription by
    // unsubscribing.
    if (found !== undefined && owner !== "" && found.owner !== owner) {
      const whose = found.owner === "" ? "a trusted worker" : "another principal";
      throw new CallError("FORBIDDEN", takenSubscription(topic, functionId, whose));
    }
    if (found === undefined) this.#refuseBeyondShare(owner);
    if (found === undefined && this.#count >= MAX_SUBSCRIPTIONS) {
      throw new CallError("overloaded", `the limit of ${MAX_SUBSCRIPTIONS} subscriptions to topics is reached`, {
        details: { limit: MAX_SUBSCRIPTIONS },
      });
    }
    const known = found ?? this.#add({ topic, functionId, config, owner, seenAt: core.clock.monotonic() });
    // A trusted worker takes over the subscription of a restricted principal.
    known.owner = owner;
    this.#configure(known, config);
    known.server = server;
    const unserve = core.serve(known.queue, server);
    this.#remember(known, 1);
    return () => {
      unserve();
      known.seenAt = core.clock.monotonic();
      if (known.server !== server) return;
      known.server = undefined;
      this.#release(known);
    };
  }

  /** Makes a trusted worker the owner of an existing subscription of a restricted principal. */
  takeOver(topic: string, functionId: string): void {
    const known = this.#byTopic.get(topic)?.get(functionId);
    if (known === undefined || known.owner === "") return;
    known.owner = "";
    this.#remember(known, 1);
  }

  /** Id of this run, under which the store notes its triggers. Undefined without a cluster. */
  get #holder(): string | undefined {
    const { store } = this.#parts.core;
    return store.isShared ? store.run : undefined;
  }

  /** Notes in the store that this run has no trigger of the subscription, so that another engine can end it. */
  #release({ topic, functionId }: Known): void {
    const { core, log } = this.#parts;
    const run = this.#holder;
    if (run === undefined || this.#stopped) return;
    core.store
      .call("releaseSubscription", { topic, functionId, run })
      // After a failure, the next sweep does the same.
      .catch((error: unknown) => log.debug("subscription cannot be released", { topic, functionId, error }));
  }

  /**
   * True if a write of this run has not changed the state here yet. This happens only in a cluster, where the store
   * decides whether a subscription ends.
   */
  #isAhead({ procedure, input }: AppliedWrite<JobProcedures>): boolean {
    if (!this.#parts.core.store.isShared) return false;
    if (procedure === "unsubscribe") return true;
    return procedure === "subscribe" && this.#byTopic.get(input.topic)?.has(input.functionId) !== true;
  }

  /** Applies a stored change of subscriptions to the state here, usually a change that another engine made. */
  #follow({ procedure, input, output }: AppliedWrite<JobProcedures>): void {
    const now = this.#parts.core.clock.monotonic();
    if (procedure === "subscribe") {
      const { topic, functionId, owner } = input;
      const config = configOf(input) ?? {};
      const known = this.#byTopic.get(topic)?.get(functionId);
      if (known === undefined) this.#add({ topic, functionId, config, owner, seenAt: now });
      else {
        known.owner = owner;
        known.seenAt = now;
        this.#configure(known, config);
      }
    } else if (procedure === "unsubscribe") {
      if (!output) return;
      const known = this.#byTopic.get(input.topic)?.get(input.functionId);
      if (known === undefined) return;
      // If this engine still has a trigger of the subscription, store the subscription again.
      if (known.server === undefined) this.#forget(known);
      else this.#remember(known, 1);
    } else if (procedure === "touchSubscriptions") {
      for (const { topic, functionId } of input.subscriptions) {
        const known = this.#byTopic.get(topic)?.get(functionId);
        if (known !== undefined) known.seenAt = now;
      }
    }
  }

  /** Removes a subscription from the state here. Returns false if it was removed already. */
  #forget(known: Known): boolean {
    const { topic, functionId } = known;
    const ofTopic = this.#byTopic.get(topic);
    if (ofTopic?.get(functionId) !== known) return false;
    ofTopic.delete(functionId);
    if (ofTopic.size === 0) this.#byTopic.delete(topic);
    this.#count -= 1;
    known.undeclare();
    return true;
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
    if (own >= each)
      throw overQuota(`all connections of ${owner} together have ${own} subscriptions to topics of ${each}`);
    if (all >= restricted)
      throw overQuota(`all restricted connections together have ${all} subscriptions to topics of ${restricted}`);
  }

  #warnOfFull(known: Known): void {
    const { core, log } = this.#parts;
    const now = core.clock.monotonic();
    if (now - known.warnedAt < WARN_EVERY_MS) return;
    known.warnedAt = now;
    const { topic, functionId, owner } = known;
    log.warn("subscription of a restricted connection is full; its messages are dropped", {
      topic,
      functionId,
      principal: owner,
    });
  }

  /**
   * Ends the principal's subscription and drops its waiting messages, unless another engine has a trigger of it. Dead
   * letters stay. Does nothing if another principal owns the subscription.
   */
  unsubscribe(topic: string, functionId: string, principal: Principal): void {
    const known = this.#byTopic.get(topic)?.get(functionId);
    if (known === undefined || known.owner !== ownerOf(principal)) return;
    this.#delete(known).then(
      (messages) => {
        if (messages > 0)
          this.#parts.log.info("subscription ended; its waiting messages were dropped", {
            topic,
            functionId,
            messages,
          });
      },
      // The subscription stays stored. A later sweep deletes it; without a cluster, only after the next start.
      (error: unknown) => this.#parts.log.warn("subscription cannot be deleted", { topic, functionId, error }),
    );
  }

  /** Changes the settings for keys that subscriptions do not set. */
  rebase(base: QueueSettings): void {
    this.#base = base;
    for (const known of this.#all()) this.#configure(known, known.config);
  }

  *#all(): Generator<Known> {
    for (const ofTopic of this.#byTopic.values()) yield* ofTopic.values();
  }

  #add({
    topic,
    functionId,
    config,
    seenAt,
    owner,
  }: Omit<Subscription, "config" | "unseenMs"> & {
    readonly config: SubscriptionConfig;
    readonly seenAt: number;
  }): Known {
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

  /**
   * Stores the subscription. Retries until this works, because otherwise the backlog's messages would not be delivered
   * before the next start.
   */
  #remember(known: Known, attempt: number): void {
    const { core, log } = this.#parts;
    const { topic, functionId, queue, config, settings, owner } = known;
    const { delayMs, maxAttempts, dedupeWindowMs } = settings;
    const job = {
      queue,
      functionId: undefined,
      delayMs,
      priority: 0,
      group: groupOf(config),
      maxAttempts,
      dedupeWindowMs,
      // The backlog is bounded, and its messages were accepted, so no limit applies.
      limits: {
        maxDepth: Number.MAX_SAFE_INTEGER,
        maxBytes: Number.MAX_SAFE_INTEGER,
        maxDead: Number.MAX_SAFE_INTEGER,
      },
    };
    core.store
      .call("subscribe", {
        topic,
        functionId,
        config: JSON.stringify(config),
        owner,
        run: known.server === undefined ? undefined : this.#holder,
        ageMs: BACKLOG_BOUNDS.ageMs,
        job,
      })
      .then(
        (messages) => {
          if (messages > 0)
            log.info("delivering messages published before the first subscription", { topic, functionId, messages });
        },
        (error: unknown) => {
          if (this.#stopped) return;
          if (attempt === 1) log.warn("subscription cannot be stored", { topic, functionId, error });
          this.#after(backoffMs(UNAVAILABLE_BACKOFF, attempt), () => {
            if (this.#byTopic.get(topic)?.get(functionId) === known) this.#remember(known, attempt + 1);
          });
        },
      );
  }

  async #delete(known: Known): Promise<number> {
    const { store } = this.#parts.core;
    const { topic, functionId, queue } = known;
    if (this.#byTopic.get(topic)?.get(functionId) !== known) return 0;
    // In a cluster, the subscription goes on if another engine has a trigger of it. Only the store knows this.
    if (!store.isShared) this.#forget(known);
    if (!(await store.call("unsubscribe", { topic, functionId, run: this.#holder }))) return 0;
    // If the function has subscribed again, its messages stay. The store checks this too, for other engines.
    if (this.#byTopic.get(topic)?.has(functionId) === true) return 0;
    return inBatches((limit) => store.call("purgeEnded", { topic, functionId, queue, limit }));
  }

  #sweepLater(): void {
    this.#after(SWEEP_MS, () => {
      void this.#sweep().finally(() => {
        if (!this.#stopped) this.#sweepLater();
      });
    });
  }

  /**
   * Deletes subscriptions that have had no trigger for `FORGET_AFTER_MS`, and old messages of the backlog. The first
   * sweep is an hour after the start, so that workers can register their triggers again before it.
   */
  async #sweep(): Promise<void> {
    const { core, log } = this.#parts;
    const now = core.clock.monotonic();
    try {
      const served = [...this.#all()].filter(({ server }) => server !== undefined);
      for (const known of served) known.seenAt = now;
      const run = this.#holder;
      if (served.length > 0 || run !== undefined)
        await core.store.call("touchSubscriptions", {
          subscriptions: served.map(({ topic, functionId }) => ({ topic, functionId })),
          run,
        });
      for (const known of [...this.#all()]) {
        if (known.server !== undefined || now - known.seenAt < FORGET_AFTER_MS) continue;
        const { topic, functionId } = known;
        log.warn("subscription without a trigger for a week deleted with its waiting messages", {
          topic,
          functionId,
          messages: await this.#delete(known),
        });
      }
      await this.#backlog.dropOld();
    } catch (error) {
      if (!this.#stopped) log.warn("stored subscriptions cannot be checked", { error });
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

function configOf({ config }: Pick<Subscription, "config">): SubscriptionConfig | undefined {
  try {
    const parsed = subscriptionConfigSchema.safeParse(JSON.parse(config));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
