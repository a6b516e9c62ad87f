import type { MessageType } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";
import type { Quota } from "../access/quota.ts";

/** Registrations of trusted connections up to this size, in bytes, are limited by their number alone. */
const SMALL_BYTES = 4 * 1024;
/** Maximum size of the larger registrations of one trusted connection together, in bytes, while it is open. */
export const MAX_LARGE_REGISTRATIONS_BYTES = 64 * 1024 * 1024;

/** The message that ends a registration, with the message that made it. */
const ENDED_BY: Readonly<Partial<Record<MessageType, MessageType>>> = {
  unregisterfunction: "registerfunction",
  unregistertrigger: "registertrigger",
  unregistertriggertype: "registertriggertype",
};
const REGISTERS: ReadonlySet<MessageType> = new Set(Object.values(ENDED_BY));

/** Returns true if the frame's bytes count towards the limit. Small frames of trusted connections do not. */
export function countsBytes({ isTrusted }: Principal, bytes: number): boolean {
  return !isTrusted || bytes > SMALL_BYTES;
}

/**
 * Counts the bytes of one connection's registrations in memory. For a restricted connection all of them count, against
 * the quota of its principal.
 */
export class RegistrationBudget {
  readonly #principal: Principal;
  readonly #quota: Quota;
  readonly #sizes = new Map<string, number>();
  #total = 0;

  constructor(principal: Principal, quota: Quota) {
    this.#principal = principal;
    this.#quota = quota;
  }

  /** Returns why the registration exceeds a limit; it is not counted then. Accepts every other message. */
  problemOf(type: MessageType, id: string, bytes: number): string | undefined {
    const ended = ENDED_BY[type];
    if (ended !== undefined) this.#set(`${ended} ${id}`, 0);
    if (!REGISTERS.has(type)) return undefined;
    const key = `${type} ${id}`;
    const { isTrusted } = this.#principal;
    // If the new registration is refused later, the old one stays. So the larger of the two counts until it is
    // unregistered.
    const counted = Math.max(this.#sizeOf(key), countsBytes(this.#principal, bytes) ? bytes : 0);
    const more = counted - this.#sizeOf(key);
    if (isTrusted && this.#total + more > MAX_LARGE_REGISTRATIONS_BYTES) {
      return `the registrations of this connection have more than ${MAX_LARGE_REGISTRATIONS_BYTES} bytes together, which is the limit`;
    }
    const problem = more > 0 ? this.#quota.problemOf(this.#principal, more) : undefined;
    if (problem === undefined) this.#set(key, counted);
    return problem;
  }

  /** Releases all bytes; the connection has ended. */
  end(): void {
    this.#quota.release(this.#principal, this.#total);
    this.#total = 0;
    this.#sizes.clear();
  }

  #sizeOf(key: string): number {
    return this.#sizes.get(key) ?? 0;
  }

  #set(key: string, bytes: number): void {
    const more = bytes - this.#sizeOf(key);
    if (more === 0) return;
    this.#total += more;
    this.#quota.release(this.#principal, -more);
    if (bytes === 0) this.#sizes.delete(key);
    else this.#sizes.set(key, bytes);
  }
}
