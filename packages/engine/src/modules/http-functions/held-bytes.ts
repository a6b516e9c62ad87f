import { CallError } from "@svc-runtime/protocol";
import { overQuota, type Principal, type Quota } from "../../kernel/module.ts";

/** Counts the bytes that one call uses of a quota: its body and the received part of the response. */
export class HeldBytes {
  readonly #functionId: string;
  readonly #principal: Principal;
  readonly #quota: Quota;
  #bytes = 0;

  constructor(functionId: string, principal: Principal, quota: Quota) {
    this.#functionId = functionId;
    this.#principal = principal;
    this.#quota = quota;
  }

  /** Counts the body before it is sent. Throws CallError `overloaded` if the quota has no room. */
  takeBody(bytes: number): void {
    const problem = this.#take(bytes);
    if (problem !== undefined) throw overQuota(`${this.#functionId}: ${problem}`);
  }

  /**
   * Counts a part of the response. If the quota has no room, throws CallError `http_response_failed` and not
   * `overloaded`, because the function has already run.
   */
  takeResponse(bytes: number): void {
    const problem = this.#take(bytes);
    if (problem !== undefined)
      throw new CallError("http_response_failed", `${this.#functionId}: its response was not read: ${problem}`);
  }

  #take(bytes: number): string | undefined {
    const problem = this.#quota.take(this.#principal, bytes);
    if (problem === undefined) this.#bytes += bytes;
    return problem;
  }

  /** Releases everything above `bytes`. */
  releaseTo(bytes: number): void {
    this.#quota.release(this.#principal, this.#bytes - bytes);
    this.#bytes = bytes;
  }
}
