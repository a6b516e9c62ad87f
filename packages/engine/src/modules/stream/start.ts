import type { Payload } from "@svc/protocol";
import { openItems } from "../../items/open-items.ts";
import type { CallOptions, ModuleContext, RunningModule } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { StreamPublisher } from "../../kernel/stream-contract.ts";
import { storeHealth } from "../../store/store-health.ts";
import { JoinTriggers, LeaveTriggers } from "./client-triggers.ts";
import type { StreamConfig } from "./config.ts";
import { provideStreamFunctions } from "./functions.ts";
import { HookedStreams } from "./hooked-streams.ts";
import { Hooks, isTrustedFunction } from "./hooks.ts";
import { ItemTriggers } from "./item-triggers.ts";
import { streamSource } from "./source.ts";
import { StoredStreams } from "./stored-streams.ts";
import { Stores } from "./stores.ts";
import { StreamEvents } from "./stream-events.ts";
import { StreamFigures } from "./stream-figures.ts";
import { clientTriggerSettings, itemTriggerSettings } from "./trigger-settings.ts";
import { UserStreams } from "./user-streams.ts";
import { waitingBytesQuota } from "./waiting-bytes.ts";

/** What the streams of `memory_streams` may hold together, in bytes; writes beyond are refused. */
const MEMORY_STREAMS_BYTES = 512 * 1024 * 1024;

/** Opens the stores and runs the module on them. */
export async function startStream(context: ModuleContext<StreamConfig>): Promise<RunningModule<StreamConfig>> {
  let config = context.config;
  const { clock, log, directory, telemetry } = context;
  const call = (id: string, payload: Payload, options: CallOptions): Promise<Payload> => context.call(id, payload, options);
  const stores = await openStores(context);
  const hooks = new Hooks({ directory, log, declared: () => config.hookedStreams });
  try {
    const waitingBytes = waitingBytesQuota();
    const triggers = new ItemTriggers({ clock, log, telemetry, waitingBytes });
    const joins = new JoinTriggers({ clock, log, telemetry, config: () => config });
    const leaves = new LeaveTriggers({ clock, log, telemetry, waitingBytes });
    // Before anybody can join: a trigger that waits for its type is bound in the same turn.
    provideTriggers(context, { triggers, joins, leaves });
    const figures = new StreamFigures();
    context.telemetry.provideMeasurements(() => figures.measure());
    const events = new StreamEvents({
      publisher: { publish: (event) => publisher.publish(event), resync: (name, group) => publisher.resync(name, group) },
      triggers,
      clock,
      figures,
    });
    const stored = new StoredStreams({ stores, events, clock, log, maxValueBytes: () => config.maxValueBytes });
    const streams = new UserStreams({ hooks, stored, hooked: new HookedStreams({ hooks, events, call }), events });
    const serve = (): StreamPublisher =>
      context.streams.serveUserStreams(
        figures.counting(
          streamSource({
            joins,
            leaves,
            authFunction: config.authFunction,
            call,
            isTrusted: (id) => isTrustedFunction(id, directory),
            log,
            snapshot: (name, group, id) => streams.snapshot(name, group, id),
            groups: (limit) => stored.groups(limit),
          }),
        ),
      );
    let publisher = serve();
    const reserveAuthFunction = (): Undo => (config.authFunction === undefined ? () => {} : context.reserveFunction(config.authFunction));
    let release = reserveAuthFunction();
    await stored.start();
    context.reportHealth(config.adapter.name === "redis" ? "adapters" : "store", storeHealth(stores));
    provideStreamFunctions(context, streams);
    return {
      reconfigure(next) {
        // What is in memory would be lost, and a file cannot be opened twice.
        if (!keepsStores(config, next)) return "restart";
        const { authFunction } = config;
        config = next;
        if (authFunction === next.authFunction) return undefined;
        // Whoever is connected was let in by other rules.
        publisher.stop();
        publisher = serve();
        release();
        release = reserveAuthFunction();
        return undefined;
      },
      async stop() {
        await stored.stop();
        // Writes that were asked for end here, and are published like all others.
        await stores.close();
        events.stop();
        publisher.stop();
        // That has ended subscriptions.
        await leaves.settle();
        hooks.stop();
      },
    };
  } catch (error) {
    hooks.stop();
    await stores.close();
    throw error;
  }
}

function provideTriggers(
  { provideTrigger }: ModuleContext<StreamConfig>,
  { triggers, joins, leaves }: { readonly triggers: ItemTriggers; readonly joins: JoinTriggers; readonly leaves: LeaveTriggers },
): void {
  provideTrigger({
    type: "stream",
    summary: "Calls a function for each event of a stream, those of a group in order",
    settings: itemTriggerSettings,
    bind: (binding) => triggers.bind(binding),
  });
  provideTrigger({
    type: "stream:join",
    summary: "Calls a function before a client joins a stream; it may refuse",
    settings: clientTriggerSettings,
    bind: (binding) => joins.bind(binding),
  });
  provideTrigger({
    type: "stream:leave",
    summary: "Calls a function when a subscription of a client has ended",
    settings: clientTriggerSettings,
    bind: (binding) => leaves.bind(binding),
  });
}

async function openStores({ config, dataDir, log, clock }: ModuleContext<StreamConfig>): Promise<Stores> {
  const surroundings = { dataDir, log, clock };
  const { adapter, memoryStreams } = config;
  const store = await openItems(adapter, surroundings);
  // Opening this one cannot fail.
  const memory = memoryStreams.length === 0 ? undefined : await openItems({ name: "in_memory", config: { max_bytes: MEMORY_STREAMS_BYTES } }, surroundings);
  return new Stores({ store, memory, memoryStreams });
}

function keepsStores(before: StreamConfig, after: StreamConfig): boolean {
  const partsOf = ({ adapter, memoryStreams }: StreamConfig): string => JSON.stringify([adapter, memoryStreams]);
  return partsOf(before) === partsOf(after);
}
