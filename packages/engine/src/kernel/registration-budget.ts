import type { MessageType } from "@svc/protocol";

/** Registrations up to this size are bounded by their number alone, in bytes. */
const SMALL_BYTES = 4 * 1024;
/** What the larger ones of one connection may have together, in bytes: they are kept for as long as it lives. */
export const MAX_LARGE_REGISTRATIONS_BYTES = 64 * 1024 * 1024;

/** What a registration says is replaced by another of the same kind and id, and ends with the message behind it. */
const ENDED_BY: Readonly<Partial<Record<MessageType, MessageType>>> = {
  unregisterfunction: "registerfunction",
  unregistertrigger: "registertrigger",
  unregistertriggertype: "registertriggertype",
};
const REGISTERS: ReadonlySet<MessageType> = new Set(Object.values(ENDED_BY));

/** Counts the bytes that one connection has the engine keep for it. */
export class RegistrationBudget {
  // Made when the first large one comes: hardly any connection has one.
  #sizes: Map<string, number> | undefined;
  #total = 0;

  /** False when the registration would be too much; then it is not counted. Every other message is taken. */
  takes(type: MessageType, id: string, bytes: number): boolean {
    const ended = ENDED_BY[type];
    if (ended !== undefined) this.#set(`${ended} ${id}`, 0);
    if (!REGISTERS.has(type)) return true;
    const key = `${type} ${id}`;
    const counted = bytes > SMALL_BYTES ? bytes : 0;
    if (this.#total - this.#sizeOf(key) + counted > MAX_LARGE_REGISTRATIONS_BYTES) return false;
    this.#set(key, counted);
    return true;
  }

  #sizeOf(key: string): number {
    return this.#sizes?.get(key) ?? 0;
  }

  #set(key: string, bytes: number): void {
    this.#total += bytes - this.#sizeOf(key);
    if (bytes === 0) this.#sizes?.delete(key);
    else {
      this.#sizes ??= new Map();
      this.#sizes.set(key, bytes);
    }
  }
}
