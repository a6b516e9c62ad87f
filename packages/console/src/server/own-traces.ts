import type { Worker } from "@svc/sdk";

type Record = <Result>(name: string, body: () => Promise<Result>, options: { readonly kind: "client"; readonly attributes: object }) => Promise<Result>;

/** The console's own traces: a span for each call that it makes for a page, sent to the engine over the bridge. */
export class OwnTraces {
  readonly #record: Record | undefined;

  constructor(worker: Worker, options: { readonly enabled: boolean }) {
    // SDKs before telemetry have no spans of their own.
    const { span } = worker as { readonly span?: Record };
    this.#record = options.enabled && span !== undefined ? span.bind(worker) : undefined;
  }

  /** Runs `body` within a span, and the call that it makes below it. Listings leave it out unless asked for internal ones: a page that lists traces would see itself. */
  record<Result>(functionId: string, body: () => Promise<Result>): Promise<Result> {
    if (this.#record === undefined) return body();
    return this.#record(`console ${functionId}`, body, { kind: "client", attributes: { "svc.internal": true, "svc.function_id": functionId } });
  }
}
