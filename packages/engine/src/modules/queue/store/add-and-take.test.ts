import fc from "fast-check";
import { expect, it } from "vitest";
import { openDatabase } from "../../../store/driver.ts";
import type { WriteBuffer } from "../../../store/procedures.ts";
import type { NewJob } from "./job.ts";
import { openProcedures, schema } from "./procedures.ts";
import type { TakeInput } from "./queue-store.ts";

const LIMITS = { maxDepth: 12, maxBytes: 1_000, maxDead: 10 };
const FUNCTIONS = ["f", "g", undefined];
const KEEP = { count: 3, ageMs: 1_000 };

/** Mostly jobs that can run at once, so that the queue is often empty. */
const job = fc.record({
  functionId: fc.constantFrom(...FUNCTIONS),
  bytes: fc.constantFrom(1, 1, 40),
  priority: fc.constantFrom(0, 0, 5),
  delayMs: fc.constantFrom(undefined, undefined, undefined, 0, 20),
  runAt: fc.constantFrom(undefined, undefined, undefined, 0, 100),
  group: fc.constantFrom(undefined, undefined, undefined, "a"),
  dedupeKey: fc.constantFrom(undefined, undefined, "k"),
  expiresInMs: fc.constantFrom(undefined, undefined, 0, 30),
  maker: fc.constantFrom(undefined, undefined, undefined, { principal: "role guest", role: "guest" }),
  mayBeDropped: fc.constantFrom(undefined, true),
});

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("add" as const),
      jobs: fc.array(job, { minLength: 1, maxLength: 3 }),
      limit: fc.integer({ min: 1, max: 4 }),
      restrictedLimit: fc.constantFrom(0, 2),
      maxBytes: fc.constantFrom(45, 1_000),
      except: fc.constantFrom([], [], [], ["f"], [""]),
      only: fc.constantFrom(undefined, undefined, ["f", ""]),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("done" as const), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("retry" as const), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const), paused: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 60 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A queue in memory with its own time. Each write is a transaction, like a batch of the store. */
function openQueue() {
  const database = openDatabase(":memory:");
  database.exec(schema.join(";\n"));
  let gathering: WriteBuffer | undefined;
  const clock = { now: 10 };
  const procedures = openProcedures(
    database,
    (given) => {
      gathering = given;
    },
    { now: () => clock.now, wall: () => clock.now },
    { isMember: () => false },
  );
  const tables = ["queues", "jobs", "bodies", "dedupe_keys", "shares"];
  const selects = tables.map((table) => database.prepare(`SELECT * FROM ${table}`));
  return {
    procedures,
    clock,
    /** Runs a write. Returns its output, or the refusal. */
    write(run: () => unknown): unknown {
      database.exec("BEGIN");
      try {
        const output = run();
        gathering?.flush();
        database.exec("COMMIT");
        return output;
      } catch (thrown) {
        database.exec("ROLLBACK");
        gathering?.discard();
        return { refused: (thrown as Error).message };
      }
    },
    content: () => selects.map((select) => select.all().map((row) => ({ ...row }))),
    close: () => database.close(),
  };
}

type Queue = ReturnType<typeof openQueue>;

function addAndTake(queue: Queue, inOneStep: boolean, jobs: readonly NewJob[], take: TakeInput): unknown {
  const { procedures } = queue;
  return queue.write(() =>
    inOneStep
      ? procedures.addAndTake.run({ jobs, take })
      : { added: procedures.add.run({ jobs }), taken: procedures.take.run(take) },
  );
}

it("adding and taking in one step has the outputs and leaves the tables of adding, then taking", () => {
  let leased = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
      const one = openQueue();
      const two = openQueue();
      try {
        const leases: number[] = [];
        for (const [number, each] of steps.entries()) {
          const outputs = [one, two].map((queue) => apply(queue, queue === one, each, number, leases));
          expect(outputs[0]).toEqual(outputs[1]);
          const taken = (outputs[0] as { readonly taken?: { readonly jobs: readonly { readonly seq: number }[] } })
            ?.taken;
          for (const { seq } of taken?.jobs ?? []) leases.push(seq);
          leased += taken?.jobs.length ?? 0;
        }
        expect(one.content()).toEqual(two.content());
      } finally {
        one.close();
        two.close();
      }
    }),
    { numRuns: 60 },
  );
  expect(leased).toBeGreaterThan(100);
});

function apply(queue: Queue, inOneStep: boolean, each: Step, number: number, leases: readonly number[]): unknown {
  const { procedures, clock } = queue;
  switch (each.kind) {
    case "add": {
      const { jobs, kind: _, ...take } = each;
      const added = jobs.map((more, index) => ({
        ...{ id: `${number}-${index}`, queue: "q", data: "1", dedupeWindowMs: 15, maxAttempts: 3, limits: LIMITS },
        ...more,
      }));
      return addAndTake(queue, inOneStep, added, { queue: "q", run: "r", take: number, ...take });
    }
    case "pause":
      return queue.write(() => procedures.setPaused.run({ queue: "q", paused: each.paused }));
    case "wait":
      clock.now += each.ms;
      return undefined;
    default: {
      const seq = leases[each.pick % Math.max(1, leases.length)];
      if (seq === undefined) return undefined;
      const lease = { seq, run: "r" };
      return queue.write(() => {
        if (each.kind === "release") return procedures.release.run(lease);
        if (each.kind === "done")
          return procedures.done.run({ ...lease, keep: KEEP, result: "1", endedAt: clock.now, durationMs: 1 });
        const failure = { attempt: 1, at: clock.now, code: "no", message: "", stack: undefined, worker: undefined };
        return procedures.retry.run({ ...lease, delayMs: 10, failure: { ...failure, traceId: undefined } });
      });
    }
  }
}
