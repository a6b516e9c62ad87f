import type { MessageType } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";
import type { Quota } from "../access/quota.ts";

/** Registrations of trusted connections up to this size, in bytes, are limited by their number alone. */
const SMALL_BYTES = 4 * 1024;
/** Maximum total size of the registrations of one trusted connection that are larger than SMALL_BYTES, in bytes. */
export const MAX_LARGE_REGISTRATIONS_BYTES = 64 * 1024 * 1024;

/** Message types that end a registration, each with the message type that makes the registration. */
const ENDED_BY: Readonly<Partial<Record<MessageType, MessageType>>> = {
  unregisterfunction: "registerfunction",
  unregistertrigger: "registertrigger",
  unregistertriggertype: "registertriggertype",
};
const REGISTERS: ReadonlySet<MessageType> = new Set(Object.values(ENDED_BY));

/** Returns true if the frame's bytes count towards a limit. Small frames of trusted connections do not count. */
export function countsBytes({ isTrusted }: Principal, bytes: number): boolean {
  return !isTrusted || bytes > SMALL_BYTES;
}

/**
 * Counts the bytes of one connection's registrations, because they stay in memory. All registrations of a restricted
 * connection count, and they count towards the quota of its principal.
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

  /** Counts a registration. If it exceeds a limit, returns the reason and does not count it. Ignores other messages. */
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
