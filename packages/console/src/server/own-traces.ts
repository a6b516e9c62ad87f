import type { Worker } from "@svc-runtime/sdk";
import { isRead } from "../contract/operations.ts";

/** The console's own traces: a span for each call for a page, sent to the engine over the bridge. */
export class OwnTraces {
  readonly #worker: Worker;
  readonly #isEnabled: boolean;

  constructor(worker: Worker, options: { readonly enabled: boolean }) {
    this.#worker = worker;
    this.#isEnabled = options.enabled;
  }

  /** Runs `body` in a span, which is the parent of the call's span. */
  record<Result>(functionId: string, body: () => Promise<Result>): Promise<Result> {
    if (!this.#isEnabled) return body();
    // Listings omit internal spans by default; otherwise a page that lists traces would list its own calls. Changes are
    // visible, so that users see what caused their effects.
    const internal = isRead(functionId) ? { "svc.internal": true } : {};
    return this.#worker.span(`console ${functionId}`, body, {
      kind: "client",
      attributes: { "svc.function_id": functionId, ...internal },
    });
  }
}
