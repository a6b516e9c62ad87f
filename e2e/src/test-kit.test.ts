// The engine's test kit as users use it: engine, worker and stream client in one process.
import { manualClock, startTestEngine } from "@svc-runtime/engine/test-kit";
import { connect, connectStreams, type StateEvent, silentLogger } from "@svc-runtime/sdk";
import { expect, it } from "vitest";

it("a jump of a year fires all timers, and ends neither a connection nor a call in flight (gap 76)", async () => {
  const clock = manualClock(Date.UTC(2030, 5, 1));
  const engine = await startTestEngine({ modules: ["svc-state", "svc-stream"], clock });
  const worker = connect(engine.url, { handleSignals: false, logger: silentLogger });
  const client = connectStreams({ url: engine.streamsUrl, logger: silentLogger });
  try {
    let finish: (() => void) | undefined;
    worker.registerFunction("slow", () => new Promise<string>((resolve) => (finish = () => resolve("done"))));
    const ended: string[] = [];
    worker.registerFunction("ended", (event: StateEvent) => ended.push(event.key));
    await worker.registerTrigger({ type: "state:deleted", function_id: "ended", config: { scope: "s" } }).registered;
    const board = client.collection<string>({ streamName: "board", groupId: "g" });
    await board.ready;
    const lost: string[] = [];
    worker.onConnectionState((state) => lost.push(state));
    client.onConnectionState((state) => lost.push(state));

    await worker.state.set("s", "month", 1, { expiresInMs: 30 * 86_400_000 });
    await worker.state.set("s", "week", 1, { expiresInMs: 7 * 86_400_000 });
    await worker.stream.set("board", "g", "note", "soon gone", { expiresInMs: 86_400_000 });
    await expect.poll(() => board.get("note")).toBe("soon gone");
    const call = worker.call({ function_id: "slow", payload: null });
    await expect.poll(() => finish).toBeDefined();

    await clock.advance(365 * 86_400_000);
    expect(new Date(clock.now()).toISOString()).toBe("2031-06-01T00:00:00.000Z");
    await expect.poll(() => [ended.toSorted(), board.size]).toEqual([["month", "week"], 0]);
    finish?.();
    expect(await call).toBe("done");
    expect(lost).toEqual([]);
  } finally {
    await client.close();
    await worker.shutdown({ timeoutMs: 1 });
    await engine.stop();
  }
});
