import { describe, expect, it } from "vitest";
import { silentLogger } from "../kernel/logger.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { Expulsion, storeRunOf } from "./expel.ts";

const [OWN, OTHER] = ["own", "other"];

function setUp({ isPeer }: { readonly isPeer: boolean }) {
  const clock = manualClock();
  const votes: string[] = [];
  const peers = new Set(isPeer ? [OTHER] : []);
  const listeners: ((run: string) => void)[] = [];
  let members: readonly string[] = [storeRunOf(OWN, 0), storeRunOf(OTHER, 3)];
  let settle: (() => void) | undefined;
  const stop = new Expulsion({
    presence: {
      hasPeer: (run) => peers.has(run),
      onPeerGone: (listener) => {
        listeners.push(listener);
        return () => listeners.splice(0);
      },
    },
    stores: () => [
      {
        run: storeRunOf(OWN, 0),
        members: () => members,
        expel(run) {
          votes.push(run);
          return new Promise((resolve) => {
            settle = resolve;
          });
        },
      },
    ],
    clock,
    log: silentLogger,
  }).start();
  const go = (): void => {
    peers.delete(OTHER);
    for (const listener of listeners) listener(OTHER);
  };
  const settleVote = async (): Promise<void> => {
    settle?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...{ clock, votes, peers, go, settleVote, stop },
    leave: () => {
      members = [storeRunOf(OWN, 0)];
    },
  };
}

describe("a member of a store", () => {
  it("is voted out soon after its engine is gone, again and again until it has left", async () => {
    const { clock, votes, go, settleVote, leave, stop } = setUp({ isPeer: true });
    clock.advance(60_000);
    expect(votes).toEqual([]);
    go();
    clock.advance(250);
    expect(votes).toEqual(["other/3"]);
    // One vote at a time.
    clock.advance(5_000);
    expect(votes).toHaveLength(1);
    await settleVote();
    clock.advance(250);
    expect(votes).toHaveLength(2);
    await settleVote();
    leave();
    clock.advance(10_000);
    expect(votes).toHaveLength(2);
    stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it("is not voted out if its engine only began a new session", () => {
    const { clock, votes, peers, go } = setUp({ isPeer: true });
    go();
    peers.add(OTHER);
    clock.advance(60_000);
    expect(votes).toEqual([]);
  });

  it("whose engine was never a peer is voted out after 6 s", () => {
    const { clock, votes } = setUp({ isPeer: false });
    clock.advance(6_000);
    expect(votes).toEqual([]);
    clock.advance(250);
    expect(votes).toEqual(["other/3"]);
  });
});
