import { AsyncLocalStorage } from "node:async_hooks";
import type { Active, Ambient } from "./active-call.ts";
import { openTelemetry } from "./telemetry/open-telemetry.ts";

const active = new AsyncLocalStorage<Active>();

/** By AsyncLocalStorage, and hand in hand with OpenTelemetry where the program has set that up. */
export const nodeAmbient: Ambient = {
  run(next, body, ...args) {
    const outside = openTelemetry();
    return outside === undefined ? active.run(next, body, ...args) : active.run(next, () => outside.run(next, () => body(...args)));
  },
  current: () => active.getStore(),
  headers: (current) => openTelemetry()?.headers(current) ?? current,
};
