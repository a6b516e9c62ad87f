import type { Directory } from "../../kernel/directory.ts";
import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import type { EventConfig } from "./config.ts";
import { provideEventFunctions } from "./functions.ts";
import { NAME } from "./name.ts";
import { isStateTopic, StateEvents } from "./state-events.ts";
import { Subscriptions } from "./subscriptions.ts";
import { eventTriggerSettings, subscribeTriggerSettings } from "./trigger-settings.ts";

/** Runs the module. */
export function startEvents(context: ModuleContext<EventConfig>): RunningModule<EventConfig> {
  let { config } = context;
  if (runsAlready(context.directory)) throw new Error("events are there already: list svc-event, or svc-pubsub, which is the same, only once");
  const subscriptions = new Subscriptions({ context, config: () => config, isStateTopic, onChange: () => stateEvents.refresh() });
  const stateEvents = new StateEvents({
    context,
    hasListeners: (topic) => subscriptions.hasListeners(topic),
    publish: (published) => subscriptions.publish(published),
  });
  stateEvents.start();
  context.telemetry.provideMeasurements(() => subscriptions.measure());
  provideEventFunctions(context, subscriptions);
  context.provideTrigger({
    type: "event",
    summary: "Calls a function for each event of a topic, or of all that fit a pattern; those of one publisher in order",
    settings: eventTriggerSettings,
    bind: (binding) => subscriptions.bind(binding, "event"),
  });
  context.provideTrigger({
    type: "subscribe",
    summary: "The same as event, as published clients name it",
    settings: subscribeTriggerSettings,
    bind: (binding) => subscriptions.bind(binding, "subscribe"),
  });
  return {
    reconfigure(next) {
      config = next;
    },
    stop: () => stateEvents.stop(),
  };
}

/** With two of them an event would reach only those who listen at the one that it was published to. */
function runsAlready(directory: Directory): boolean {
  return directory.workers().some(({ name, status }) => status === "available" && (name === NAME || name.startsWith(`${NAME}#`)));
}
