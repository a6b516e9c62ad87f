import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Clock } from "../kernel/clock.ts";
import { manualClock } from "../testing/index.ts";
import { LAUNCHER_SCRIPT } from "./launcher.ts";
import { LineSplitter } from "./line-splitter.ts";
import { type ProcessGroup, startProcessGroup } from "./process-group.ts";
import { findProcess, identityOf, listProcesses, membersOf } from "./process-table.ts";

const ENV = { PATH: process.env.PATH ?? "/usr/bin:/bin" };
let folder: string;
const groups: ProcessGroup[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-group-"));
});

afterEach(async () => {
  await Promise.all(groups.splice(0).map((group) => group.stop({ graceMs: 0 })));
  await rm(folder, { recursive: true, force: true });
});

/** Starts a command and collects its output lines; `line(text)` resolves when a line begins with the text. */
function start(
  command: string,
  clock?: Clock,
): { readonly group: ProcessGroup; readonly lines: string[]; line(prefix: string): Promise<string> } {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const group = startProcessGroup({
    command,
    cwd: folder,
    env: ENV,
    ...(clock === undefined ? {} : { clock }),
    capture: ({ stdout, stderr }) => {
      for (const stream of [stdout, stderr]) {
        const splitter = new LineSplitter((line) => {
          lines.push(line);
          for (const wake of waiting) wake();
        });
        stream.on("data", (chunk: Buffer) => splitter.push(chunk)).on("end", () => splitter.end());
      }
    },
  });
  groups.push(group);
  const line = (prefix: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = lines.find((text) => text.startsWith(prefix));
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return { group, lines, line };
}

async function membersLeft(group: ProcessGroup): Promise<readonly number[]> {
  return membersOf(group.id ?? -1, await listProcesses()).map((entry) => entry.pid);
}

describe("a process group", () => {
  it("tells the command's exit code and leaves nothing behind", async () => {
    const { group, lines } = start("echo out; echo err >&2; exit 7");
    expect(await group.ended).toEqual({ code: 7, signal: null, problem: undefined });
    expect([...lines].sort()).toEqual(["err", "out"]);
    expect(await membersLeft(group)).toEqual([]);
  });

  it("tells the signal that ended the command", async () => {
    const { group } = start("kill -s KILL $$");
    expect(await group.ended).toEqual({ code: null, signal: "SIGKILL", problem: undefined });
  });

  it("gives the command an empty standard input and the default signal actions", async () => {
    const { group, lines } = start(
      `cat; python3 -c 'import signal; print("sigint", signal.getsignal(signal.SIGINT) is signal.default_int_handler)'`,
    );
    await group.ended;
    expect(lines).toEqual(["sigint True"]);
  });

  it("lists the command and its descendants without the launcher", async () => {
    const { group, line } = start("sleep 60 & echo pid $$; wait");
    const pid = Number((await line("pid")).slice(4));
    const pids = await group.pids();
    expect(pids).toContain(pid);
    expect(pids).not.toContain(group.id);
    expect(pids).toHaveLength(2);
  });

  it("sweeps background processes away when the command ends by itself", async () => {
    const { group } = start("(trap '' TERM; sleep 60) & exit 0");
    expect(await group.ended).toMatchObject({ code: 0 });
    expect(await membersLeft(group)).toEqual([]);
  });

  it("stops with SIGTERM and lets descendants finish after their wrapper has gone", async () => {
    // The inner process ends later than the shell around it.
    const inner = `import os, signal, time
def bye(*_):
    time.sleep(0.4)
    os.write(1, b"finished\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, bye)
os.write(1, b"up\\n")
while True:
    signal.pause()`;
    await writeFile(join(folder, "inner.py"), inner);
    const { group, lines, line } = start("python3 inner.py & wait");
    await line("up");
    expect(await group.stop({ graceMs: 8_000 })).toMatchObject({ signal: "SIGTERM" });
    expect(lines).toEqual(["up", "finished"]);
    expect(await membersLeft(group)).toEqual([]);
  });

  it("tells a command of a stop only when it can hear of it, however early that comes", async () => {
    const group = await startHeld("exec sleep 300");
    const launcher = group.id as number;
    const stopped = group.stop({ graceMs: 20_000 });
    try {
      // The shell would receive the signal while it forks, and the command would get the whole grace period.
      expect(await pendingSignals(launcher)).not.toContain(constants.signals.SIGTERM);
    } finally {
      process.kill(launcher, "SIGCONT");
    }
    expect(await stopped).toEqual({ code: null, signal: "SIGTERM", problem: undefined });
  });

  it("tells of an early stop what the command left behind, although that ended before its start was heard of", async () => {
    const trapping = `trap "echo heard; exit" TERM; echo > trapping; sleep 20 & wait`;
    const { group, lines } = start(`(${trapping}) & while [ ! -e trapping ]; do sleep 0.01; done`);
    const stopped = group.stop({ graceMs: 20_000 });
    // Reads nothing meanwhile, so that all reports of the launcher arrive at once.
    while (!existsSync(join(folder, "trapping"))) pause(10);
    pause(200);
    await stopped;
    expect(lines).toEqual(["heard"]);
  });

  it("kills what ignores SIGTERM when the grace is over", async () => {
    const { group, line } = start("trap '' TERM; echo up; sleep 60; sleep 60");
    await line("up");
    await group.stop({ graceMs: 200 });
    expect(await membersLeft(group)).toEqual([]);
  });

  it("kills members that moved to a group of their own", async () => {
    const { group, line } = start("bash -c 'set -m; sleep 60 & echo moved $!; wait'");
    const moved = Number((await line("moved")).slice(6));
    expect((await findProcess(moved))?.groupId).not.toBe(group.id);
    await group.stop({ graceMs: 100 });
    expect(await membersLeft(group)).toEqual([]);
  });

  it("sends SIGTERM to descendants that opened sessions of their own when the group is empty", async () => {
    const { group, lines, line } = start(
      `trap 'echo group told; sleep 0.2; echo group ended; exit' TERM
       (setsid sh -c 'trap "echo escaped told; exit" TERM; echo escaped $$; while :; do sleep 0.05; done' &)
       echo up; while :; do sleep 0.05; done`,
    );
    await line("up");
    const escaped = await pidIn(line("escaped"));
    await group.stop({ graceMs: 20_000 });
    expect(lines.filter((text) => / (told|ended)$/.test(text))).toEqual(["group told", "group ended", "escaped told"]);
    expect(await identityOf(escaped)).toBeUndefined();
  });

  it("kills descendants that opened sessions of their own and ignore SIGTERM when the grace is over", async () => {
    const { group, line } = start(
      `(setsid sh -c 'trap "" TERM; setsid sh -c "echo escaped \\$\\$; sleep 300; :" & wait' &); echo up; sleep 300`,
    );
    const escaped = await pidIn(line("escaped"));
    await group.stop({ graceMs: 200 });
    expect(await identityOf(escaped)).toBeUndefined();
    expect(await runningIn(group.runId)).toEqual([]);
  });

  it("sends SIGTERM to processes outside the group after half of the grace, for a command that waits for one", async () => {
    const clock = manualClock();
    const waits = `trap 'echo group told' TERM; setsid sh -c 'trap "echo escaped told; exit" TERM; echo escaped $$; while :; do sleep 0.05; done'`;
    const { group, lines, line } = start(`${waits}; echo command ended`, clock);
    await line("escaped");
    const stopped = group.stop({ graceMs: 10_000 });
    expect(lines).not.toContain("escaped told");
    clock.advance(5_000);
    await line("command ended");
    await vi.waitUntil(() => {
      clock.advance(50);
      return Promise.race([stopped, Promise.resolve(undefined)]);
    }, 9_000);
    expect(lines.filter((text) => / (told|ended)$/.test(text))).toEqual([
      "escaped told",
      "group told",
      "command ended",
    ]);
  });

  it("sweeps away what left the group when the command ends by itself, and when the launcher is killed", async () => {
    for (const how of ["by itself", "launcher"]) {
      const { group, line } = start(
        "(setsid sh -c 'echo escaped $$; exec sleep 300' &); while [ ! -e end ]; do sleep 0.05; done",
      );
      const escaped = await pidIn(line("escaped"));
      if (how === "launcher") process.kill(group.id ?? 0, "SIGKILL");
      else await writeFile(join(folder, "end"), "");
      await group.ended;
      expect(await identityOf(escaped), how).toBeUndefined();
      await rm(join(folder, "end"), { force: true });
    }
  });

  it("finds a process without the marker while its parent lives", async () => {
    const { group, line } = start(
      "(setsid sh -c 'env -i /bin/sh -c \"echo bare \\$\\$; sleep 300; :\"; :' &); echo up; sleep 300",
    );
    const bare = await pidIn(line("bare"));
    await group.stop({ graceMs: 1_000 });
    expect(await identityOf(bare)).toBeUndefined();
  });

  it("ends descendants that go on starting others in sessions of their own", async () => {
    await writeFile(
      join(folder, "spawner.py"),
      `import os, sys, time
os.setsid()
print("spawns", os.getpid(), flush=True)
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)
    time.sleep(0.002)
time.sleep(300)`,
    );
    const { group, line } = start("(python3 spawner.py &) ; echo up; sleep 300");
    await line("spawns");
    group.kill();
    await group.ended;
    expect(await runningIn(group.runId)).toEqual([]);
  });

  it("leaves the processes of other runs alone", async () => {
    const first = start("(setsid sh -c 'echo escaped $$; exec sleep 300' &); sleep 300");
    const second = start("(setsid sh -c 'echo escaped $$; exec sleep 300' &); sleep 300");
    const other = await pidIn(second.line("escaped"));
    await first.line("escaped");
    await first.group.stop({ graceMs: 1_000 });
    expect(await identityOf(other)).toBeDefined();
  });

  it("leaves members of an inner run to the engine inside, and ends them after it", async () => {
    const { group, lines, line } = start(
      `inner=0123456789abcdef0123456789abcdef:$SVC_RUN_ID
       (SVC_RUN_ID=$inner setsid sh -c 'trap "echo inner told; exit" TERM; echo inner $$; while :; do sleep 0.05; done' &)
       (setsid sh -c 'trap "sleep 0.3; echo engine ended; exit" TERM; echo engine $$; while :; do sleep 0.05; done' &)
       echo up; exec sleep 300`,
    );
    for (const word of ["up", "inner", "engine"]) await line(word);
    await group.stop({ graceMs: 8_000 });
    expect(lines.filter((text) => / (told|ended)$/.test(text))).toEqual(["engine ended", "inner told"]);
    expect(await runningIn(group.runId)).toEqual([]);
  });

  it("says why a command could not be started", async () => {
    const group = startProcessGroup({ command: "true", cwd: join(folder, "missing"), env: ENV, capture: () => {} });
    const end = await group.ended;
    expect(end.problem).toContain("missing");
  });

  it("ends although the launcher itself was killed", async () => {
    const { group, line } = start("echo up; sleep 60");
    await line("up");
    process.kill(group.id ?? 0, "SIGKILL");
    expect(await group.ended).toMatchObject({ signal: "SIGKILL" });
    expect(await membersLeft(group)).toEqual([]);
  });

  it("works in the shells that may be behind /bin/sh", async () => {
    for (const shell of ["dash", "bash --posix"]) {
      const child = spawn(`${shell} -c "$SCRIPT" svc-launcher 'exit 5' 00`, {
        shell: "/bin/bash",
        detached: true,
        stdio: ["ignore", "inherit", "inherit", "pipe"],
        env: { ...ENV, SCRIPT: LAUNCHER_SCRIPT },
      });
      const channel = child.stdio[3] as NodeJS.ReadableStream;
      let text = "";
      for await (const chunk of channel) {
        text += String(chunk);
        if (text.includes("exit")) break;
      }
      expect(text, shell).toMatch(/^watcher \d+\ncommand\nexit 5\n$/);
      process.kill(-(child.pid ?? 0), "SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
  });
});

/** Returns the number after the word that a line begins with. */
async function pidIn(line: Promise<string>): Promise<number> {
  return Number((await line).split(" ")[1]);
}

/**
 * Returns the pids of processes with the run's id in their environment. Reads `/proc` itself, because the test checks
 * how the product finds them.
 */
async function runningIn(runId: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    pids.map(async (pid) => [pid, await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")] as const),
  );
  return environments.filter(([, environment]) => environment.includes(runId)).map(([pid]) => Number(pid));
}

/** Blocks the event loop for a while. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** Starts a group whose launcher is stopped by SIGSTOP before it has forked. */
async function startHeld(command: string): Promise<ProcessGroup> {
  for (let tries = 0; tries < 200; tries++) {
    const { group } = start(command);
    const id = group.id as number;
    process.kill(id, "SIGSTOP");
    await expect.poll(() => statusOf(id), { interval: 1 }).toMatch(/^State:\s*T/m);
    if (membersOf(id, await listProcesses()).length === 1) return group;
    group.kill();
    await group.ended;
  }
  throw new Error("the launcher was always faster");
}

/** The format is in https://man7.org/linux/man-pages/man5/proc_pid_status.5.html. */
function statusOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/status`, "utf8");
}

/** Returns the numbers of the process's pending signals. */
async function pendingSignals(pid: number): Promise<number[]> {
  const masks = [...(await statusOf(pid)).matchAll(/^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$/gm)].map(([, mask]) =>
    BigInt(`0x${mask}`),
  );
  return Array.from({ length: 64 }, (_, index) => index + 1).filter((number) =>
    masks.some((mask) => (mask >> BigInt(number - 1)) & 1n),
  );
}

describe("when the engine is killed with -9", () => {
  it.each([
    ["one of which ignores SIGTERM", "sh stubborn.sh & echo child $$; wait; wait"],
    ["one of which has left the group and ignores SIGTERM", "(setsid sh stubborn.sh &); echo child $$; sleep 300"],
    ["all of which ignore SIGTERM", "trap '' TERM; sh stubborn.sh & echo child $$; while :; do wait; done"],
  ])("ends all descendants, %s", async (_what, command) => {
    const engine = join(folder, "engine.mjs");
    await writeFile(
      engine,
      `import { startProcessGroup } from ${JSON.stringify(new URL("./process-group.js", import.meta.url).href)};
       const group = startProcessGroup({ command: process.argv[2], cwd: process.cwd(), env: process.env, capture: ({ stdout, stderr }) => { stdout.pipe(process.stdout); stderr.resume(); } });
       console.log("group " + group.id);
       setInterval(() => {}, 1000);`,
    );
    await writeFile(join(folder, "stubborn.sh"), "trap '' TERM\necho grandchild $$\nwhile :; do sleep 1; done\n");
    const child = spawn(process.execPath, [engine, command], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    const facts = new Map<string, number>();
    for await (const line of createInterface({ input: child.stdout })) {
      const [name, pid] = line.split(" ");
      facts.set(name ?? "", Number(pid));
      if (facts.size === 3) break;
    }
    const group = facts.get("group") ?? 0;
    const before = membersOf(group, await listProcesses()).map((entry) => entry.pid);
    expect(before).toEqual(expect.arrayContaining([facts.get("child"), group]));

    child.kill("SIGKILL");
    await once(child, "exit");
    await expect.poll(async () => membersOf(group, await listProcesses())).toEqual([]);
    for (const name of ["child", "grandchild"]) expect(await identityOf(facts.get(name) ?? 0), name).toBeUndefined();
  });
});
