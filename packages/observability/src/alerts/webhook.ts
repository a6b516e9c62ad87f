import {
  type Clock,
  checkUrl,
  coalesced,
  Exchanger,
  type OutboundRules,
  orAborted,
  pause,
  type Resolve,
  resolveChecked,
  systemResolve,
} from "@svc-runtime/engine/module";
import { type BackoffOptions, backoffMs } from "@svc-runtime/protocol";

const TRY_MS = 10_000;
const TRIES = 3;
const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 2_000, jitter: 0 };

/** Posts JSON to addresses that the rules allow. The address is checked at each attempt. Redirects are not followed. */
export class Webhooks {
  readonly #clock: Clock;
  readonly #exchanger: Exchanger;
  readonly #resolve: Resolve;

  constructor(clock: Clock, resolve: Resolve = systemResolve) {
    this.#clock = clock;
    this.#exchanger = new Exchanger(clock, undefined);
    this.#resolve = coalesced(resolve);
  }

  /**
   * Makes up to three attempts of 10 s, with pauses of 1 and 2 s. Rejects with the last error, or with the signal's
   * reason.
   */
  async post(
    url: string,
    body: unknown,
    { rules, signal }: { readonly rules: () => OutboundRules; readonly signal: AbortSignal },
  ): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(body));
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#try(url, bytes, rules(), signal);
        return;
      } catch (error) {
        if (signal.aborted || attempt === TRIES) throw error;
      }
      await pause(this.#clock, backoffMs(BACKOFF, attempt), signal);
    }
  }

  close(): void {
    this.#exchanger.close();
  }

  async #try(text: string, body: Buffer, rules: OutboundRules, stopped: AbortSignal): Promise<void> {
    const ending = new AbortController();
    const stop = (): void => ending.abort(stopped.reason);
    stopped.addEventListener("abort", stop, { once: true });
    if (stopped.aborted) stop();
    const cancel = this.#clock.after(TRY_MS, () => ending.abort(new Error(`no response within ${TRY_MS} ms`)));
    try {
      const url = checkUrl(text, rules);
      const addresses = await orAborted(resolveChecked(url, rules, this.#resolve), ending.signal);
      const headers = {
        "content-type": "application/json",
        "content-length": String(body.byteLength),
        "user-agent": "svc",
      };
      const response = await this.#exchanger.send({
        url,
        method: "POST",
        headers,
        body,
        addresses,
        signal: ending.signal,
      });
      if (response.status < 200 || response.status > 299)
        throw new Error(`the webhook responded with status ${response.status}`);
    } finally {
      cancel();
      stopped.removeEventListener("abort", stop);
    }
  }
}
