import type { Measurement } from "../../kernel/telemetry-contract.ts";

/** Number of responses since the module started, by the first digit of the status. */
export class RequestCounts {
  readonly #byClass = new Map<string, number>();

  responded(status: number): void {
    const kind = `${Math.floor(status / 100)}xx`;
    this.#byClass.set(kind, (this.#byClass.get(kind) ?? 0) + 1);
  }

  /** `inFlight`: number of requests being handled. */
  measure(inFlight: number): readonly Measurement[] {
    const responded = [...this.#byClass].map(
      ([status_class, value]): Measurement => ({
        name: "svc.http.requests",
        type: "counter",
        description: "Requests with a response, by class of status",
        labels: { status_class },
        value,
      }),
    );
    return [
      ...responded,
      { name: "svc.http.in_flight", type: "gauge", description: "Requests in flight", value: inFlight },
    ];
  }
}
