import { describe, expect, it } from "vitest";
import type { CommandEnd, ProcessGroup } from "../../local-workers/process-group.ts";
import { RestartPolicy } from "../../local-workers/restart-policy.ts";
import { type ManualClock, manualClock } from "../../testing/index.ts";
import { type ProcessKind, WorkerProcess } from "./worker-process.ts";

const EXITED: CommandEnd = { code: 1, signal: null, problem: undefined };

/** A fake process group that runs until the test ends it. */
class ScriptedGroup implements ProcessGroup {
  readonly id: number;
  readonly runId = "";
  readonly ended: Promise<CommandEnd>;
  end: (end: CommandEnd) => Promise<void>;

  constructor(id: number) {
    this.id = id;
    let resolve: (end: CommandEnd) => void = () => {};
    this.ended = new Promise((settle) => {
      resolve = settle;
    });
    this.end = async (end) => {
      resolve(end);
      await this.ended;
    };
  }

  async stop(): Promise<CommandEnd> {
    await this.end({ code: null, signal: "SIGTERM", problem: undefined });
    return this.ended;
  }

  kill(): void {}

  pids(): Promise<readonly number[]> {
    return Promise.resolve([this.id]);
  }
}

interface World {
  readonly clock: ManualClock;
  readonly groups: ScriptedGroup[];
  readonly process: WorkerProcess;
  readonly events: string[];
  /** Registrations of its connections. */
  functions: number;
  /** The last line of its standard error. */
  lastError: string | undefined;
  latest(): ScriptedGroup;
}

function setUp(kind?: ProcessKind): World {
  const clock = manualClock();
  const groups: ScriptedGroup[] = [];
  const events: string[] = [];
  const world: World = {
    clock,
    groups,
    events,
    functions: 0,
    latest: () => groups.at(-1) as ScriptedGroup,
    lastError: undefined,
    process: new WorkerProcess({
      name: "w",
      lastError: () => world.lastError,
      lastLines: () => ["its last line"],
      clock,
      random: () => 0.5,
      kind,
      spawn() {
        const group = new ScriptedGroup(groups.length + 1);
        groups.push(group);
        return group;
      },
      haveRegistered: (connections) => connections.size > 0 && world.functions > 0,
      observer: {
        changed: () => {},
        started: (group) => events.push(`started ${group.id}`),
        ready: () => events.push("ready"),
        crashed: (_end, next) => events.push(next.state),
        finished: () => events.push("finished"),
        replacedDisconnected: () => events.push("replaced disconnected"),
      },
    }),
  };
  return world;
}

describe("a worker's process", () => {
  it("is ready 300 ms after its last registration, and not without a function", () => {
    const world = setUp();
    world.process.start();
    world.process.connected("w");
    world.clock.advance(1_000);
    expect(world.process.status.state).toBe("starting");
    world.functions = 1;
    world.process.registered();
    world.clock.advance(200);
    world.process.registered();
    world.clock.advance(299);
    expect(world.process.status.state).toBe("starting");
    world.clock.advance(1);
    expect(world.process.status).toEqual({ state: "ready", reason: undefined });
    expect(world.events).toEqual(["started 1", "ready"]);
  });

  it("stays and says so when it registers nothing within 120 s", () => {
    const { process, clock, groups } = setUp();
    process.start();
    clock.advance(120_000);
    expect(process.status.state).toBe("starting");
    expect(process.status.reason).toContain("has registered no function, trigger type or trigger for 120 s");
    expect(groups).toHaveLength(1);
  });

  it("is starting again when its connection is lost, and ready when it is back", () => {
    const world = setUp();
    world.functions = 1;
    world.process.start();
    world.process.connected("w");
    world.clock.advance(300);
    world.process.disconnected("w");
    expect(world.process.status).toEqual({
      state: "starting",
      reason: "it lost its connection to the engine and is expected back",
    });
    world.process.connected("w2");
    world.clock.advance(300);
    expect(world.process.status.state).toBe("ready");
    expect(world.groups).toHaveLength(1);
  });

  it("restarts after 1 s, doubling, and rests after the fifth exit within a minute", async () => {
    const { process, clock, latest, groups, events } = setUp();
    process.start();
    for (const delayMs of [1_000, 2_000, 4_000, 8_000]) {
      await latest().end(EXITED);
      expect(process.status.state).toBe("backing_off");
      expect(process.status.reason).toBe(`it ended with exit code 1 and restarts in ${delayMs / 1000} s`);
      clock.advance(delayMs - 1);
      const before = groups.length;
      clock.advance(1);
      expect(groups).toHaveLength(before + 1);
    }
    await latest().end(EXITED);
    expect(process.status.state).toBe("crash_looping");
    clock.advance(299_999);
    expect(groups).toHaveLength(5);
    clock.advance(1);
    expect(groups).toHaveLength(6);
    expect(process.restarts).toBe(5);
    expect(events.filter((event) => event === "crash_looping")).toHaveLength(1);
  });

  it("says what its standard error ended with, cut to a line, and how to restart it", async () => {
    const world = setUp();
    const { process, clock, latest } = world;
    process.start();
    world.lastError = "  SyntaxError: invalid syntax";
    await latest().end(EXITED);
    expect(process.status.reason).toBe("it ended with exit code 1 (SyntaxError: invalid syntax) and restarts in 1 s");
    world.lastError = "x".repeat(300);
    for (let exit = 1; exit < 5; exit++) {
      clock.advance(9_000);
      await latest().end(EXITED);
    }
    expect(process.status.reason).toBe(
      `it ended with exit code 1, the fifth time within a minute (${"x".repeat(200)}…); it restarts when a file changes, with \`svc worker restart w\`, or in 5 minutes`,
    );
  });

  it("that rests after a crash loop starts at once when it is asked to", async () => {
    const { process, clock, latest, groups } = setUp();
    process.start();
    for (let exit = 0; exit < 5; exit++) {
      await latest().end(EXITED);
      if (exit < 4) clock.advance(9_000);
    }
    expect(process.status.state).toBe("crash_looping");
    await process.stop({ graceMs: 10_000 });
    process.start();
    expect(process.status.state).toBe("starting");
    expect(groups).toHaveLength(6);
    await latest().end(EXITED);
    expect(process.status.state).toBe("backing_off");
    expect(clock.pendingTimers).toBe(1);
  });

  it("does not start again after it was stopped, also while it backs off", async () => {
    const { process, clock, latest, groups } = setUp();
    process.start();
    await process.stop({ graceMs: 10_000 });
    expect(process.status.state).toBe("stopped");
    process.start();
    await latest().end(EXITED);
    await process.stop({ graceMs: 10_000 });
    clock.advance(600_000);
    expect(groups).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a process that replaces another one", () => {
  it("fails when it ends before it has taken over, and is not started again", async () => {
    const world = setUp();
    const { process, clock, latest, events } = world;
    process.startAsReplacement();
    world.lastError = "SyntaxError: invalid syntax";
    await latest().end(EXITED);
    expect(process.status).toEqual({
      state: "failed",
      reason: "it ended with exit code 1 (SyntaxError: invalid syntax) before it was ready",
    });
    expect(process.lastExit?.end).toEqual(EXITED);
    expect(events).toEqual(["started 1", "failed"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("restarts like every other process once it has replaced the former one, and continues its count of restarts", async () => {
    const former = setUp();
    former.process.start();
    await former.latest().end(EXITED);
    former.clock.advance(1_000);
    const { process, latest, groups, clock } = setUp();
    process.startAsReplacement();
    process.takeOver(former.process);
    expect(process).toMatchObject({ restarts: 1, lastExit: { end: EXITED } });
    await latest().end(EXITED);
    expect(process.status.state).toBe("backing_off");
    clock.advance(1_000);
    expect(groups).toHaveLength(2);
    expect(process.restarts).toBe(2);
  });

  it("reports that a connection of the former one has closed after that ended", () => {
    const former = setUp();
    former.process.start();
    former.process.connected("c");
    setUp().process.takeOver(former.process);
    former.process.disconnected("c");
    expect(former.events).toEqual(["started 1", "replaced disconnected"]);
  });
});

describe("a command's process", () => {
  it("is ready once it has run for a second, and has ended when its exit code is 0", async () => {
    const { process, clock, latest, events } = setUp({ readyWhen: "running", restart: "on_failure" });
    process.start();
    clock.advance(999);
    expect(process.status.state).toBe("starting");
    clock.advance(1);
    expect(process.status.state).toBe("ready");
    await latest().end({ code: 0, signal: null, problem: undefined });
    expect(process.status).toEqual({ state: "stopped", reason: "it ended with exit code 0" });
    expect(process.isFinished).toBe(true);
    expect(events).toEqual(["started 1", "ready", "finished"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    { restart: "on_failure", code: 1, state: "backing_off" },
    { restart: "always", code: 0, state: "backing_off" },
    { restart: "never", code: 0, state: "stopped" },
    { restart: "never", code: 1, state: "failed" },
  ] as const)("with restart $restart is $state after exit code $code", async ({ restart, code, state }) => {
    const { process, latest } = setUp({ readyWhen: "running", restart });
    process.start();
    await latest().end({ code, signal: null, problem: undefined });
    expect(process.status.state).toBe(state);
  });
});

describe("the restart policy", () => {
  it("doubles up to 60 s, with 20 % jitter to both sides and never longer", () => {
    for (const [random, factor] of [
      [0, 0.8],
      [0.5, 1],
      [1, 1.2],
    ] as const) {
      const policy = new RestartPolicy(() => random);
      const delays = Array.from(
        { length: 9 },
        (_, exit) => policy.exited({ nowMs: exit * 30_000, ranForMs: 29_000, wasReady: false }).delayMs,
      );
      expect(delays).toEqual(
        [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => Math.min(60_000, Math.round(seconds * 1_000 * factor))),
      );
    }
  });

  it("starts a process again almost at once that was ready, but once within a minute only", () => {
    const policy = new RestartPolicy(() => 0.5);
    expect(policy.exited({ nowMs: 0, ranForMs: 5_000, wasReady: true }).delayMs).toBe(250);
    expect(policy.exited({ nowMs: 6_000, ranForMs: 5_000, wasReady: true }).delayMs).toBe(1_000);
    expect(policy.exited({ nowMs: 70_000, ranForMs: 50_000, wasReady: true }).delayMs).toBe(250);
  });

  it("starts from the first delay after a run of 60 s", () => {
    const policy = new RestartPolicy(() => 0.5);
    policy.exited({ nowMs: 0, ranForMs: 10, wasReady: false });
    policy.exited({ nowMs: 2_000, ranForMs: 10, wasReady: false });
    expect(policy.exited({ nowMs: 64_000, ranForMs: 60_000, wasReady: false })).toEqual({
      state: "backing_off",
      delayMs: 1_000,
    });
  });
});
