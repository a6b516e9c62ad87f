import { AsyncLocalStorage } from "node:async_hooks";
import { openTelemetry } from "../telemetry/open-telemetry.ts";
import type { Active, AsyncContext } from "./async-context.ts";

const active = new AsyncLocalStorage<Active>();

/** Uses AsyncLocalStorage. If the program has set up OpenTelemetry, also uses its context. */
export const nodeAsyncContext: AsyncContext = {
  run(next, body, ...args) {
    const tracing = openTelemetry();
    return tracing === undefined
      ? active.run(next, body, ...args)
      : active.run(next, () => tracing.run(next, () => body(...args)));
  },
  current: () => active.getStore(),
  headers: (current) => openTelemetry()?.headers(current) ?? current,
};
