import { connect, type RegisteredTrigger, silentLogger, type Worker } from "@svc-runtime/sdk";
import { Counter, type Failure, failureOf, inSeconds, longestPause, Ticks } from "../cluster-load/outcomes.ts";
import { eventually } from "../support/processes.ts";
import { type ClusterScene, NODES, type NodeName, within } from "./cluster-scene.ts";
import { pause } from "./scene.ts";

/** Longer than an engine lets a write wait for the log (20 s). */
const CALL_MS = 30_000;
/** A call may be this much late: the machine is busy. */
const LATE_MS = 3_000;
const PAUSE_MS = 8;
const PROGRESS_MS = 90_000;
const LANES = ["state 1", "state 2", "jobs"] as const;
const SCOPE = "load";
const SHARED = "shared";
const QUEUE = "load";
/** Every fifth job takes this many milliseconds, so that an engine that is killed is running jobs. */
const LONG_JOB = { every: 5, ms: 700 };
/** Interval at which the history of the ticks is read. It keeps the last 100. */
const HISTORY_MS = 15_000;

interface Fault {
  readonly kind: string;
  /** Engines that do nothing during it. */
  readonly engines: readonly NodeName[];
  readonly at: number;
  /** How long it took until jobs that a killed engine was running started again, in milliseconds. */
  readonly again: number[];
}

interface Lane {
  /** Engine that it is connected to; `any` for one that knows all addresses. */
  readonly at: NodeName | "any";
  readonly name: string;
  readonly client: Worker;
  readonly counter: Counter;
  /** Keys that were set, and those that perhaps were. */
  readonly keys: Set<string>;
  readonly unknownKeys: Set<string>;
  operations: number;
  /** Writes that were acknowledged. */
  acks: number;
}

interface Held {
  /** Settles when the call has ended. Resolves with how, and how long after `from`. */
  ended(from: number): Promise<{ readonly code: string; readonly afterMs: number }>;
}

/** Clients that write state and add jobs at each engine, and workers that run jobs and ticks, with what they saw. */
export class ClusterLoad {
  readonly #scene: ClusterScene;
  readonly #runners = new Map<NodeName, Worker>();
  readonly #roaming: Worker;
  readonly #lanes: Lane[] = [];
  #lanesEnd: Promise<unknown> = Promise.resolve();
  #isOver = false;
  /** When the end of the load was requested. Later times do not count as pauses. */
  #overAt: number | undefined;
  readonly #problems: string[] = [];
  readonly #shared = { acknowledged: 0, unknown: 0 };
  /** Times of acknowledged writes, by engine. */
  readonly #acks = new Map<NodeName | "any", number[]>([...NODES, "any" as const].map((name) => [name, []]));
  readonly #jobs = { acknowledged: new Set<string>(), unknown: 0, ended: new Set<string>(), starts: 0 };
  /** Jobs that run now, by id. */
  readonly #running = new Map<string, NodeName>();
  /** Jobs that a killed engine was running and that have not started again. */
  readonly #awaited = new Map<string, Fault>();
  readonly #ticks = new Ticks();
  readonly #triggers = new Map<NodeName, RegisteredTrigger>();
  readonly #held = new Map<string, () => void>();
  readonly #failures = new Map<string, number>();
  readonly #faults: Fault[] = [];
  #lastHistory = performance.now();

  private constructor(scene: ClusterScene) {
    this.#scene = scene;
    for (const name of NODES) this.#runners.set(name, this.#runner(name));
    this.#roaming = this.#connected("roaming", NODES.map((name) => scene.url(name)).join(","));
    for (const at of [...NODES, "any" as const])
      for (const name of LANES) {
        const client = at === "any" ? this.#roaming : this.runner(at);
        this.#lanes.push({
          ...{ at, client, name: `${at} ${name}`, operations: 0, acks: 0 },
          ...{ counter: new Counter(), keys: new Set(), unknownKeys: new Set() },
        });
      }
  }

  /** Resolves when writes, jobs and ticks are under way at each engine. */
  static async start(scene: ClusterScene): Promise<ClusterLoad> {
    const load = new ClusterLoad(scene);
    for (const [name, worker] of load.#runners) {
      const trigger = worker.registerTrigger({
        type: "cron",
        function_id: "load::tick",
        config: { expression: "* * * * * *", overlap: "allow" },
      });
      const { status, reason } = await trigger.registered;
      if (status === "error") throw new Error(`the trigger was refused: ${reason}`);
      load.#triggers.set(name, trigger);
    }
    load.#lanesEnd = Promise.all(load.#lanes.map((lane) => load.#run(lane)));
    load.#lanesEnd.catch(() => undefined);
    await load.progress();
    return load;
  }

  runner(name: NodeName): Worker {
    const found = this.#runners.get(name);
    if (found === undefined) throw new Error(`there is no worker at ${name}`);
    return found;
  }

  #connected(name: string, url: string): Worker {
    const reconnect = { initialDelayMs: 50, maxDelayMs: 500 };
    return connect(url, { name, handleSignals: false, logger: silentLogger, reconnect });
  }

  #runner(name: NodeName): Worker {
    const worker = this.#connected(`runner-${name}`, this.#scene.url(name));
    worker.registerFunction("load::run", async ({ id, ms }: { readonly id: string; readonly ms: number }) => {
      this.#startedJob(id, name);
      if (ms > 0) await pause(ms);
      if (this.#running.get(id) === name) this.#running.delete(id);
      this.#jobs.ended.add(id);
      return null;
    });
    worker.registerFunction("load::tick", ({ scheduled_time }: { readonly scheduled_time: string }) => {
      this.#ticks.started(new Date(scheduled_time).toISOString(), name);
      return null;
    });
    worker.registerFunction(`load::hold::${name}`, async ({ id }: { readonly id: string }, { signal }) => {
      this.#held.get(id)?.();
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return null;
    });
    return worker;
  }

  #startedJob(id: string, name: NodeName): void {
    this.#jobs.starts += 1;
    const fault = this.#awaited.get(id);
    if (fault !== undefined) fault.again.push(performance.now() - fault.at);
    this.#awaited.delete(id);
    this.#running.set(id, name);
  }

  async #run(lane: Lane): Promise<void> {
    while (!this.#isOver) {
      const number = lane.operations++;
      if (lane.name.endsWith("jobs")) await this.#addJob(lane, number);
      else await this.#useState(lane, number);
      await pause(PAUSE_MS);
    }
  }

  async #addJob(lane: Lane, number: number): Promise<void> {
    const id = `${lane.name} ${number}`;
    const ms = number % LONG_JOB.every === 0 ? LONG_JOB.ms : 0;
    const job = { queue: QUEUE, function_id: "load::run", data: { id, ms } };
    await this.#write(lane, "queue::enqueue", job, {
      acked: () => void this.#jobs.acknowledged.add(id),
      failed: (outcome) => {
        if (outcome === "unknown") this.#jobs.unknown += 1;
      },
    });
  }

  async #useState(lane: Lane, number: number): Promise<void> {
    const kind = number % 5;
    if (kind === 4) return this.#readElsewhere(lane, number);
    if (kind === 3) {
      const key = `${lane.name} ${number}`;
      return this.#write(
        lane,
        "state::set",
        { scope: SCOPE, key, value: number },
        {
          acked: () => void lane.keys.add(key),
          failed: (outcome) => {
            if (outcome === "unknown") lane.unknownKeys.add(key);
          },
        },
      );
    }
    const isShared = kind === 2;
    const ops = [{ type: "increment", path: "", by: 1 }];
    const input = { scope: "counters", key: isShared ? SHARED : lane.name, ops };
    return this.#write(lane, "state::update", input, {
      acked: (answer) => {
        if (isShared) this.#shared.acknowledged += 1;
        else this.#note(lane, lane.counter.acked((answer as { readonly new_value: unknown }).new_value));
      },
      failed: (outcome) => {
        if (!isShared) lane.counter.failed(outcome);
        else if (outcome === "unknown") this.#shared.unknown += 1;
      },
    });
  }

  async #write(
    lane: Lane,
    function_id: string,
    payload: unknown,
    { acked, failed }: { acked(answer: unknown): void; failed(outcome: Failure): void },
  ): Promise<void> {
    try {
      acked(await this.#call(lane.client, function_id, payload));
      lane.acks += 1;
      this.#acks.get(lane.at)?.push(performance.now());
    } catch (error) {
      const outcome = failureOf(error);
      const { code } = error as { readonly code: string };
      this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1);
      failed(outcome);
    }
  }

  /** What was acknowledged at one engine is read at every other. */
  async #readElsewhere(lane: Lane, number: number): Promise<void> {
    const live = NODES.filter((name) => this.#scene.live.has(name) && name !== lane.at);
    const reader = this.runner(live[number % live.length] ?? "a");
    try {
      const value = await this.#call(reader, "state::get", { scope: "counters", key: lane.name });
      this.#note(lane, lane.counter.read(value));
    } catch (error) {
      failureOf(error);
    }
  }

  async #call(client: Worker, function_id: string, payload: unknown): Promise<unknown> {
    const from = performance.now();
    try {
      return await within(
        CALL_MS + LATE_MS,
        `the end of a call of ${function_id}`,
        client.call({ function_id, payload, timeoutMs: CALL_MS }),
      );
    } finally {
      const took = performance.now() - from;
      if (took > CALL_MS + LATE_MS) this.#problems.push(`a call of ${function_id} ended after ${took} ms`);
    }
  }

  #note({ name }: Lane, problem: string | undefined): void {
    if (problem !== undefined) this.#problems.push(`${name}: ${problem}`);
  }

  /** Notes a fault that has just begun. `engines` do nothing during it, and lose the jobs that they are running. */
  began(kind: string, engines: readonly NodeName[] = [], { keepJobs = false } = {}): Fault {
    const fault: Fault = { kind, engines, at: performance.now(), again: [] };
    this.#faults.push(fault);
    for (const [id, name] of this.#running)
      if (engines.includes(name) && !keepJobs) {
        this.#awaited.set(id, fault);
        this.#running.delete(id);
      }
    return fault;
  }

  /**
   * Resolves when each client has had further writes of each kind acknowledged, and jobs were done. `except`: an engine
   * whose own clients may stand still.
   */
  async progress({ except }: { readonly except?: NodeName | undefined } = {}): Promise<void> {
    const before = this.#lanes.map(({ acks }) => acks);
    const jobs = this.#jobs.ended.size;
    await eventually(
      "each client has further answers, and jobs",
      () =>
        this.#lanes.every((lane, index) => lane.at === except || lane.acks > (before[index] ?? 0) + 2) &&
        this.#jobs.ended.size > jobs + 2,
      PROGRESS_MS,
    );
    if (performance.now() - this.#lastHistory > HISTORY_MS) await this.#readHistory();
  }

  /** Makes a call that the worker at an engine does not answer, from another engine. */
  async hold(at: NodeName): Promise<Held | undefined> {
    const from = NODES.find((name) => name !== at) ?? "a";
    const id = `${at} ${this.#faults.length}`;
    const started = new Promise<void>((resolve) => this.#held.set(id, resolve));
    const call = this.runner(from).call({ function_id: `load::hold::${at}`, payload: { id }, timeoutMs: CALL_MS });
    const ended = call.then(
      () => ({ code: "none", at: performance.now() }),
      (error: { readonly code: string }) => ({ code: error.code, at: performance.now() }),
    );
    const began = await Promise.race([started.then(() => true), ended.then(() => false)]);
    this.#held.delete(id);
    if (!began) return undefined;
    return {
      async ended(since) {
        const { code, at: endedAt } = await within(CALL_MS + LATE_MS, "the end of a call to a killed engine", ended);
        return { code, afterMs: endedAt - since };
      },
    };
  }

  async #readHistory(): Promise<void> {
    this.#lastHistory = performance.now();
    for (const [name, { id }] of this.#triggers)
      try {
        const payload = { trigger_id: id, limit: 100 };
        const { runs } = (await this.#call(this.runner(name), "cron::history", payload)) as {
          readonly runs: readonly { scheduled_time: string; started_at?: string | null; outcome: string }[];
        };
        for (const { scheduled_time, started_at, outcome } of runs)
          if (started_at && outcome === "error") this.#ticks.interrupted(new Date(scheduled_time).toISOString());
        return;
      } catch (error) {
        failureOf(error);
      }
  }

  /** What was seen so far that must not be. */
  problems(): string[] {
    return [...this.#problems, ...this.#scene.unexpected, ...this.#scene.logged("replicas of this store differ")];
  }

  /** Ends the load, waits for what is under way, and returns all problems. All processes must run. */
  async finish(): Promise<string[]> {
    this.#isOver = true;
    this.#overAt = performance.now();
    await within(CALL_MS + 2 * LATE_MS, "the end of the last calls", this.#lanesEnd);
    await this.#readHistory();
    for (const trigger of this.#triggers.values()) trigger.unregister();
    const asked = this.runner("a");
    await eventually(
      "all jobs are done",
      async () => {
        const stats = await this.#call(asked, "queue::stats", { queue: QUEUE });
        const { waiting, delayed, active } = stats as { waiting: number; delayed: number; active: number };
        return waiting + delayed + active === 0;
      },
      120_000,
    );
    const problems = this.problems();
    problems.push(...this.#ticks.problems());
    const { dead } = (await this.#call(asked, "queue::stats", { queue: QUEUE })) as { readonly dead: number };
    if (dead > 0) problems.push(`${dead} jobs are dead, though none fails`);
    const lost = [...this.#jobs.acknowledged].filter((id) => !this.#jobs.ended.has(id));
    if (lost.length > 0) problems.push(`${lost.length} acknowledged jobs did not run: ${lost.slice(0, 5).join("; ")}`);
    if (this.#awaited.size > 0)
      problems.push(`jobs of killed engines did not run again: ${[...this.#awaited.keys()].join("; ")}`);
    for (const name of NODES) problems.push(...(await this.#stateProblems(name)));
    return problems;
  }

  async #stateProblems(name: NodeName): Promise<string[]> {
    const problems: string[] = [];
    const reader = this.runner(name);
    const get = (key: string): Promise<unknown> => this.#call(reader, "state::get", { scope: "counters", key });
    for (const lane of this.#lanes.filter(({ counter }) => counter.acknowledged > 0)) {
      const problem = lane.counter.read(await get(lane.name));
      if (problem !== undefined) problems.push(`at the end, at ${name}: ${problem}`);
    }
    const shared = Number(await get(SHARED));
    const { acknowledged, unknown } = this.#shared;
    if (shared < acknowledged || shared > acknowledged + unknown)
      problems.push(`the shared counter is ${shared} at ${name}: ${acknowledged} acknowledged, ${unknown} unknown`);
    const found = new Map<string, unknown>();
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const input = { scope: SCOPE, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await this.#call(reader, "state::entries", input)) as {
        readonly items: readonly { readonly key: string; readonly value: unknown }[];
        readonly cursor: string | null;
      };
      for (const { key, value } of page.items) found.set(key, value);
      cursor = page.cursor;
    }
    for (const { keys, unknownKeys } of this.#lanes) {
      const missing = [...keys].filter((key) => found.get(key) !== Number(key.split(" ").at(-1)));
      if (missing.length > 0)
        problems.push(`${missing.length} sets are lost at ${name}: ${missing.slice(0, 5).join("; ")}`);
      for (const key of [...keys, ...unknownKeys]) found.delete(key);
    }
    if (found.size > 0) problems.push(`${found.size} keys at ${name} that nobody set`);
    return problems;
  }

  /** E.g. for the table of figures. */
  summary(): string {
    const { acknowledged, unknown, ended, starts } = this.#jobs;
    const counters =
      this.#lanes.reduce((sum, { counter }) => sum + counter.acknowledged, 0) + this.#shared.acknowledged;
    const sets = this.#lanes.reduce((sum, { keys }) => sum + keys.size, 0);
    const open = this.#lanes.reduce((sum, { counter, unknownKeys }) => sum + counter.unknown + unknownKeys.size, 0);
    const failures = [...this.#failures].map(([code, count]) => `${count} ${code}`).join(", ") || "none";
    return (
      `${counters} increments and ${sets} sets acknowledged (${open + this.#shared.unknown} of unknown outcome); ` +
      `${acknowledged.size} jobs acknowledged (${unknown} unknown), ${ended.size} done, ${starts - ended.size} starts more than jobs; ` +
      `${this.#ticks.count} ticks started, ${this.#ticks.cutOff} cut off before the call; failed writes: ${failures}`
    );
  }

  /** Longest time without an acknowledged write at engines that lived, after each fault of a kind. */
  stalls(kind: string): number[] {
    return this.#faults
      .map((fault, at) => ({ fault, next: this.#faults[at + 1]?.at ?? this.#overAt ?? performance.now() }))
      .filter(({ fault }) => fault.kind === kind)
      .map(({ fault, next }) =>
        Math.max(
          ...NODES.filter((name) => !fault.engines.includes(name)).map((name) =>
            longestPause(this.#acks.get(name) ?? [], fault.at, next),
          ),
        ),
      );
  }

  /** The last fault, and for how long each client was without an acknowledged write since then. */
  lastFault(): string {
    const fault = this.#faults.at(-1);
    if (fault === undefined) return "no fault";
    const now = performance.now();
    const pauses = [...this.#acks].map(
      ([name, acks]) => `${name} ${(longestPause(acks, fault.at, now) / 1_000).toFixed(1)} s`,
    );
    const again = fault.again.length === 0 ? "" : `; ${fault.again.length} jobs again after ${inSeconds(fault.again)}`;
    const took = ((now - fault.at) / 1_000).toFixed(1);
    return `${new Date().toISOString()} ${fault.kind} ${fault.engines.join(", ")}: over after ${took} s; longest pause of writes: ${pauses.join(", ")}${again}`;
  }

  /** As `stalls`, for clients that know the addresses of all engines. */
  roamingStalls(kind: string): number[] {
    return this.#faults
      .map((fault, at) => ({ fault, next: this.#faults[at + 1]?.at ?? this.#overAt ?? performance.now() }))
      .filter(({ fault }) => fault.kind === kind)
      .map(({ fault, next }) => longestPause(this.#acks.get("any") ?? [], fault.at, next));
  }

  /** E.g. `15 times one server, 4 times all servers`. */
  kinds(): string {
    const counts = new Map<string, number>();
    for (const { kind } of this.#faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return [...counts].map(([kind, count]) => `${count} times ${kind}`).join(", ");
  }

  again(kind: string): string {
    return inSeconds(this.#faults.filter((fault) => fault.kind === kind).flatMap(({ again }) => again));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(
      [...this.#runners.values(), this.#roaming].map((worker) => worker.shutdown({ timeoutMs: 1_000 })),
    );
  }
}
