import type { Directory } from "../../kernel/directory.ts";
import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import { type EventConfig, NAME } from "./config.ts";
import { provideEventFunctions } from "./functions.ts";
import { isStateTopic, StateEvents } from "./state-events.ts";
import { Subscriptions } from "./subscriptions.ts";
import { eventTriggerSettings, subscribeTriggerSettings } from "./trigger-settings.ts";

/** Starts the module. */
export function startEvents(context: ModuleContext<EventConfig>): RunningModule<EventConfig> {
  let { config } = context;
  if (runsAlready(context.directory))
    throw new Error("svc-event is configured twice; list it, or its other name svc-pubsub, only once");
  const subscriptions = new Subscriptions({
    context,
    config: () => config,
    isStateTopic,
    onChange: () => stateEvents.refresh(),
  });
  const stateEvents = new StateEvents({
    context,
    hasSubscribers: (topic) => subscriptions.hasSubscribers(topic),
    publish: (published) => subscriptions.publish(published),
  });
  stateEvents.start();
  context.telemetry.provideMeasurements(() => subscriptions.measure());
  provideEventFunctions(context, subscriptions);
  context.provideTrigger({
    type: "event",
    summary: "Calls a function for each event of a topic, or of topics that match a pattern; in order per publisher",
    settings: eventTriggerSettings,
    onEveryNode: true,
    bind: (binding) => subscriptions.bind(binding, "event"),
  });
  context.provideTrigger({
    type: "subscribe",
    summary: "The same as event, under the name that published clients use",
    settings: subscribeTriggerSettings,
    onEveryNode: true,
    bind: (binding) => subscriptions.bind(binding, "subscribe"),
  });
  return {
    reconfigure(next) {
      config = next;
    },
    stop: () => stateEvents.stop(),
  };
}

/**
 * Returns true if svc-event runs already. With two such modules, an event would reach only the subscribers of the
 * module that it was published to.
 */
function runsAlready(directory: Directory): boolean {
  return directory
    .workers()
    .some(({ name, status }) => status === "available" && (name === NAME || name.startsWith(`${NAME}#`)));
}
