import type { Worker } from "@svc-runtime/sdk";
import { isRead } from "../contract/operations.ts";

/** The console's own traces. Each call for a page has a span, which is sent to the engine over the bridge. */
export class OwnTraces {
  readonly #worker: Worker;
  readonly #isEnabled: boolean;

  constructor(worker: Worker, options: { readonly enabled: boolean }) {
    this.#worker = worker;
    this.#isEnabled = options.enabled;
  }

  /** Runs `body` in a span. The span is the parent of the call's span. */
  record<Result>(functionId: string, body: () => Promise<Result>): Promise<Result> {
    if (!this.#isEnabled) return body();
    // Spans of calls that only read are internal, because a page that lists traces would otherwise list its own calls.
    // Spans of changes are not, so that users see what caused the effects of a change.
    const internal = isRead(functionId) ? { "svc.internal": true } : {};
    return this.#worker.span(`console ${functionId}`, body, {
      kind: "client",
      attributes: { "svc.function_id": functionId, ...internal },
    });
  }
}
