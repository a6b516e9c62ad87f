import type { AppliedRequest, LogObserver } from "../observed-log.ts";
import type { Violations } from "../violations.ts";
import type { TriggerCall, TriggerWatcher } from "../workload/trigger-workload.ts";

const STORE = "state.db";
const ONCE = "a state change is delivered once";
const ORDER = "order per item";

/** A change that the outbox has for the trigger. */
interface StoredChange {
  readonly key: string;
  readonly version: number;
  isAcknowledged: boolean;
}

interface Written {
  readonly status?: string;
  readonly version?: number;
  readonly logged?: readonly ({ readonly seq: number } | null | undefined)[];
}

/** Deliveries of state changes to a trigger that every engine has, by what was written to the log. */
export class DeliveryModel implements LogObserver, TriggerWatcher {
  readonly #violations: Violations;
  readonly #changes = new Map<number, StoredChange>();
  readonly #calls: TriggerCall[] = [];
  /** Highest version that was delivered, by key. */
  readonly #lastVersions = new Map<string, number>();
  #isWatched = false;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  /** Number of changes that wait to be delivered. */
  get pending(): number {
    return [...this.#changes.values()].filter(({ isAcknowledged }) => !isAcknowledged).length;
  }

  get delivered(): number {
    return this.#changes.size - this.pending;
  }

  onRequest({ store, procedure, input, output, isDone }: AppliedRequest): void {
    if (store !== STORE || !isDone) return;
    if (procedure === "watch") this.#isWatched = true;
    else if (procedure === "set" || procedure === "update" || procedure === "delete")
      this.#written((input as { readonly key: string }).key, output as Written);
    else if (procedure === "acknowledge")
      for (const { seq } of input as readonly { readonly seq: number }[]) this.#acknowledged(seq);
  }

  /** Checks the order, and that no other engine that may still write delivers the change or has delivered it. */
  onBegin(call: TriggerCall): void {
    const { key, version, life } = call;
    const last = this.#lastVersions.get(key) ?? 0;
    if (version < last)
      this.#violations.add(ORDER, `${life.process.name} delivers version ${version} of ${key} after ${last}`);
    this.#lastVersions.set(key, Math.max(last, version));
    const stored = this.#changeOf(key, version);
    if (stored?.isAcknowledged === true)
      this.#violations.add(ONCE, `${life.process.name} delivers version ${version} of ${key}, which is acknowledged`);
    const members = life.stores.get(STORE)?.store.members() ?? [];
    for (const other of this.#calls)
      if (
        other.key === key &&
        other.version === version &&
        other.outcome !== "failed" &&
        other.life.process.state !== "dead" &&
        (other.life === life || members.includes(other.run))
      )
        this.#violations.add(
          ONCE,
          `${life.process.name} delivers version ${version} of ${key}, which is ${other.outcome} at ${other.life.process.name}`,
        );
    this.#calls.push(call);
  }

  /** Checks that nothing is left. */
  finish(): void {
    for (const { key, version, isAcknowledged } of this.#changes.values())
      if (!isAcknowledged) this.#violations.add("no state change is lost", `version ${version} of ${key} waits`);
  }

  #written(key: string, { status, version = 0, logged }: Written): void {
    if (status !== "written") return;
    const seqs = (logged ?? []).flatMap((one) => one?.seq ?? []);
    if (this.#isWatched && seqs.length === 0)
      this.#violations.add("no state change is lost", `version ${version} of ${key} was not stored for the trigger`);
    for (const seq of seqs) this.#changes.set(seq, { key, version, isAcknowledged: false });
  }

  #acknowledged(seq: number): void {
    const change = this.#changes.get(seq);
    if (change === undefined) return;
    const { key, version } = change;
    const isDelivered = this.#calls.some(
      (call) => call.key === key && call.version === version && call.outcome === "done",
    );
    if (!isDelivered)
      this.#violations.add(
        "no state change is lost",
        `version ${version} of ${key} is acknowledged, but not delivered`,
      );
    change.isAcknowledged = true;
  }

  #changeOf(key: string, version: number): StoredChange | undefined {
    return [...this.#changes.values()].find((one) => one.key === key && one.version === version);
  }
}
