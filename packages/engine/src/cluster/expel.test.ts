import { describe, expect, it } from "vitest";
import { createLogger } from "../kernel/logger.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { Expulsion, storeRunOf } from "./expel.ts";

const [OWN, OTHER] = ["own", "other"];

function setUp({ isPeer }: { readonly isPeer: boolean }) {
  const clock = manualClock();
  const votes: string[] = [];
  const logged: string[] = [];
  const peers = new Set(isPeer ? [OTHER] : []);
  const listeners: ((run: string) => void)[] = [];
  let members: readonly string[] = [storeRunOf(OWN, 0), storeRunOf(OTHER, 3)];
  let settle: ((failure?: Error) => void) | undefined;
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
          return new Promise((resolve, reject) => {
            settle = (failure) => (failure === undefined ? resolve() : reject(failure));
          });
        },
      },
    ],
    clock,
    log: createLogger({ level: "info", now: () => 0, write: ({ message }) => logged.push(message) }),
  }).start();
  const go = (): void => {
    peers.delete(OTHER);
    for (const listener of listeners) listener(OTHER);
  };
  const settleVote = async (failure?: Error): Promise<void> => {
    settle?.(failure);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...{ clock, votes, logged, peers, go, settleVote, stop },
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

  it("is logged once when the votes begin, once when they fail, and once when they end", async () => {
    const { clock, votes, logged, peers, go, settleVote } = setUp({ isPeer: true });
    go();
    for (let vote = 0; vote < 20; vote++) {
      clock.advance(250);
      await settleVote(new Error("no log"));
    }
    expect(votes).toHaveLength(20);
    expect(logged).toEqual([
      expect.stringContaining("voting to expel an engine from the stores"),
      expect.stringContaining("votes to expel an engine cannot be written"),
    ]);
    peers.add(OTHER);
    clock.advance(1_000);
    expect(logged).toHaveLength(3);
    expect(logged[2]).toContain("no longer voting to expel an engine");
  });
});
