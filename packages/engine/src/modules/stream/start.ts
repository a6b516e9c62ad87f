import type { Payload } from "@svc-runtime/protocol";
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
import { StreamMetrics } from "./stream-metrics.ts";
import { clientTriggerSettings, itemTriggerSettings, waitingBytesQuota } from "./trigger-settings.ts";
import { UserStreams } from "./user-streams.ts";

/** Maximum total size of the streams in `memory_streams`, in bytes. Writes above it fail. */
const MEMORY_STREAMS_BYTES = 512 * 1024 * 1024;

/** Opens the stores and starts the module. */
export async function startStream(context: ModuleContext<StreamConfig>): Promise<RunningModule<StreamConfig>> {
  let config = context.config;
  const { clock, log, directory, telemetry } = context;
  const call = (id: string, payload: Payload, options: CallOptions): Promise<Payload> =>
    context.call(id, payload, options);
  const stores = await openStores(context);
  const hooks = new Hooks({ directory, log, declared: () => config.hookedStreams });
  try {
    const waitingBytes = waitingBytesQuota();
    const triggers = new ItemTriggers({ clock, log, telemetry, waitingBytes });
    const joins = new JoinTriggers({ clock, log, telemetry, config: () => config });
    const leaves = new LeaveTriggers({ clock, log, telemetry, waitingBytes });
    // Register the trigger types before clients can join, so that no join misses its triggers. Triggers that wait for
    // their type are bound in the same turn of the event loop.
    provideTriggers(context, { triggers, joins, leaves });
    const metrics = new StreamMetrics();
    context.telemetry.provideMeasurements(() => metrics.measure());
    const events = new StreamEvents({
      publisher: {
        publish: (event) => publisher.publish(event),
        resync: (name, group) => publisher.resync(name, group),
      },
      triggers,
      clock,
      metrics,
    });
    const stored = new StoredStreams({ stores, events, clock, log, maxValueBytes: () => config.maxValueBytes });
    const streams = new UserStreams({ hooks, stored, hooked: new HookedStreams({ hooks, events, call }), events });
    const serve = (): StreamPublisher =>
      context.streams.serveUserStreams(
        metrics.counting(
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
    const reserveAuthFunction = (): Undo =>
      config.authFunction === undefined ? () => {} : context.reserveFunction(config.authFunction);
    let release = reserveAuthFunction();
    await stored.start();
    context.reportHealth(config.adapter.name === "redis" ? "adapters" : "store", storeHealth(stores));
    provideStreamFunctions(context, streams);
    return {
      reconfigure(next) {
        // Restart if the stores change, because the new stores may use the same file, which cannot be opened twice.
        if (!keepsStores(config, next)) return "restart";
        const { authFunction } = config;
        config = next;
        if (authFunction === next.authFunction) return undefined;
        // Disconnect all clients, because they were authenticated by other rules.
        publisher.stop();
        publisher = serve();
        release();
        release = reserveAuthFunction();
        return undefined;
      },
      async stop() {
        await stored.stop();
        // Pending writes finish here and are still published.
        await stores.close();
        events.stop();
        publisher.stop();
        // Stopping the publisher has ended all subscriptions, so wait until the leave triggers were called.
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
  {
    triggers,
    joins,
    leaves,
  }: { readonly triggers: ItemTriggers; readonly joins: JoinTriggers; readonly leaves: LeaveTriggers },
): void {
  provideTrigger({
    type: "stream",
    summary: "Calls a function for each event of a stream, in order per group",
    settings: itemTriggerSettings,
    bind: (binding) => triggers.bind(binding),
  });
  provideTrigger({
    type: "stream:join",
    summary: "Calls a function before a client joins a stream; the function may reject the join",
    settings: clientTriggerSettings,
    bind: (binding) => joins.bind(binding),
  });
  provideTrigger({
    type: "stream:leave",
    summary: "Calls a function after a client's subscription ends",
    settings: clientTriggerSettings,
    bind: (binding) => leaves.bind(binding),
  });
}

async function openStores({ config, dataDir, log, clock, openStore }: ModuleContext<StreamConfig>): Promise<Stores> {
  const options = { dataDir, log, clock, openStore };
  const { adapter, memoryStreams } = config;
  const store = await openItems(adapter, options);
  // Opening an in-memory store cannot fail, so `store` need not be closed on an error.
  const memory =
    memoryStreams.length === 0
      ? undefined
      : await openItems({ name: "in_memory", config: { max_bytes: MEMORY_STREAMS_BYTES } }, options);
  return new Stores({ store, memory, memoryStreams });
}

function keepsStores(before: StreamConfig, after: StreamConfig): boolean {
  const partsOf = ({ adapter, memoryStreams }: StreamConfig): string => JSON.stringify([adapter, memoryStreams]);
  return partsOf(before) === partsOf(after);
}
