import type { Worker } from "@svc/sdk";
import { isRead } from "../contract/operations.ts";

/** The console's own traces: a span for each call that it makes for a page, sent to the engine over the bridge. */
export class OwnTraces {
  readonly #worker: Worker;
  readonly #isEnabled: boolean;

  constructor(worker: Worker, options: { readonly enabled: boolean }) {
    this.#worker = worker;
    this.#isEnabled = options.enabled;
  }

  /** Runs `body` within a span; the call that it makes hangs below it. */
  record<Result>(functionId: string, body: () => Promise<Result>): Promise<Result> {
    if (!this.#isEnabled) return body();
    // Listings leave internal spans out unless asked: a page that lists traces would else see, and bring about, nothing but itself. What a
    // change sets going is for everybody to see, and where it came from.
    const internal = isRead(functionId) ? { "svc.internal": true } : {};
    return this.#worker.span(`console ${functionId}`, body, { kind: "client", attributes: { "svc.function_id": functionId, ...internal } });
  }
}
