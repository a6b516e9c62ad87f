import { MAX_CLOCK_SKEW_MS } from "@svc-runtime/protocol";
import type { Clock } from "../clock.ts";
import type { ClockState } from "../nodes-contract.ts";

/**
 * How long the clocks of the peers must contradict the last verdict until it changes, in milliseconds. A message that is
 * late makes a right clock look wrong, until the next message of that peer arrives.
 */
const CONFIRM_MS = 3_000;
/** If no peer has had a right clock for this long, this node acts by its own, whatever its verdict. In milliseconds. */
const REPLACE_MS = 10_000;
/** How long this node waits at its start for most of the clocks to agree with its own, in milliseconds. */
const START_MS = 3_000;

/**
 * Compares this node's clock with those of the peers. `right`: more than half of all clocks, with this one, agree with
 * it. `wrong`: more than half are ahead of it, or more than half are behind it. `open` in all other cases, e.g. if two
 * nodes differ: nobody knows which of them is right.
 *
 * @param offsets How far the clocks of the peers are ahead of this node's clock, in milliseconds.
 */
export function compareClocks(offsets: readonly number[]): "right" | "wrong" | "open" {
  const half = (offsets.length + 1) / 2;
  const count = (is: (offsetMs: number) => boolean): number => offsets.filter(is).length;
  if (offsets.length === 0) return "open";
  if (1 + count((offsetMs) => Math.abs(offsetMs) <= MAX_CLOCK_SKEW_MS) > half) return "right";
  const isWrong =
    count((offsetMs) => offsetMs > MAX_CLOCK_SKEW_MS) > half ||
    count((offsetMs) => offsetMs < -MAX_CLOCK_SKEW_MS) > half;
  return isWrong ? "wrong" : "open";
}

/** The clock of a peer. */
export interface PeerClock {
  /** How far it is ahead of this node's clock, in milliseconds. Undefined if the peer does not send its time. */
  readonly offsetMs: number | undefined;
  /** What the peer knows about it. */
  readonly state: ClockState;
}

/**
 * Decides from the clocks of the peers whether this node's clock is right. While the comparison is open, e.g. because
 * another node is away, the last verdict remains. If only nodes whose clocks are not right are left, they act by their
 * clocks until another one is back.
 */
export class ClockCheck {
  readonly #clock: Clock;
  readonly #peers: () => readonly PeerClock[];
  readonly #startedAt: number;
  #verdict: "right" | "wrong" | undefined;
  /** Since when the comparison contradicts the verdict, on the monotonic clock. */
  #contradictedAt: number | undefined;
  /** Since when the comparison is open and no peer has a right clock, on the monotonic clock. */
  #noneRightAt: number | undefined;

  constructor(clock: Clock, peers: () => readonly PeerClock[]) {
    this.#clock = clock;
    this.#peers = peers;
    this.#startedAt = clock.monotonic();
  }

  /**
   * Compares the clocks, and returns the verdict. Call it regularly, because the verdict depends on earlier comparisons.
   */
  look(): ClockState {
    const now = this.#clock.monotonic();
    const peers = this.#peers();
    const compared = compareClocks(peers.flatMap(({ offsetMs }) => offsetMs ?? []));
    if (compared !== "open" || peers.some(({ state }) => state === "right")) this.#noneRightAt = undefined;
    else this.#noneRightAt ??= now;
    if (compared === "open") {
      const isStarting = now - this.#startedAt < START_MS;
      if (!isStarting && this.#contradictedAt === undefined) this.#verdict ??= "right";
    } else if (compared === this.#verdict || (compared === "right" && this.#verdict === undefined)) {
      this.#become(compared);
    } else {
      this.#contradictedAt ??= now;
      if (now - this.#contradictedAt >= CONFIRM_MS) this.#become(compared);
    }
    if (this.#verdict === "wrong") return "wrong";
    return this.#contradictedAt === undefined ? (this.#verdict ?? "unknown") : "unknown";
  }

  /** Compares the clocks, and returns by which state this node acts. */
  state(): ClockState {
    const verdict = this.look();
    const isNeeded = this.#noneRightAt !== undefined && this.#clock.monotonic() - this.#noneRightAt >= REPLACE_MS;
    return isNeeded ? "right" : verdict;
  }

  #become(verdict: "right" | "wrong"): void {
    this.#verdict = verdict;
    this.#contradictedAt = undefined;
  }
}
