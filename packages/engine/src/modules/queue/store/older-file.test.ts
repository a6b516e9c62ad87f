import { afterEach, expect, it } from "vitest";
import { type Database, openDatabase } from "../../../store/driver.ts";
import type { Procedure, WriteBuffer } from "../../../store/procedures.ts";
import { openProcedures, schema } from "./procedures.ts";

const TIME = { now: () => 10, wall: () => 10 };
const NO_RUNS = { isMember: () => false };

let database: Database;
afterEach(() => database.close());

it("what a file of the version before holds is that of trusted callers: jobs, dedupe keys, subscriptions and messages", () => {
  database = openDatabase(":memory:");
  database.exec(schema.slice(0, 2).join(";\n"));
  database.exec(`
    INSERT INTO queues (id, name, waiting, bytes, added) VALUES (1, 'q', 2, 2, 2);
    INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, grp, dedupe)
      VALUES (1, 'first', 1, 'work', 0, 0, 5, 0, 5, 0, 3, 1, 'g', 'k'), (2, 'second', 1, 'work', 1, 0, 5, 0, 5, 0, 3, 1, 'g', NULL);
    INSERT INTO bodies (seq, data) VALUES (1, '1'), (2, '2');
    INSERT INTO dedupe_keys (queue, key, job, expires_at) VALUES (1, 'k', 'first', 1000);
    INSERT INTO subscriptions (topic, function, config, seen_at) VALUES ('t', 'f', '{}', 5);
    INSERT INTO backlog (id, topic, data, bytes, at) VALUES ('m', 'u', '1', 1, 5);
    INSERT INTO backlog_counts (topic, messages, bytes) VALUES ('u', 1, 1), ('', 1, 1);
  `);
  database.exec(schema.slice(2).join(";\n"));
  let gathering: WriteBuffer | undefined;
  const gather = (given: WriteBuffer): void => {
    gathering = given;
  };
  const procedures = openProcedures(database, gather, TIME, NO_RUNS);
  const run = <Input, Output>({ run: carryOut }: Procedure<Input, Output>, input: Input): Output => {
    const output = carryOut(input);
    gathering?.flush();
    return output;
  };
  const limits = { maxDepth: 10, maxBytes: 100, maxDead: 10 };
  const job = {
    queue: "q",
    functionId: "work",
    data: "3",
    bytes: 1,
    priority: 0,
    dedupeKey: "k",
    dedupeWindowMs: 10,
    maxAttempts: 3,
    limits,
  };
  expect(run(procedures.add, { jobs: [{ ...job, id: "third" }] })).toEqual([{ id: "first", duplicate: true }]);
  const maker = { principal: "role guest", role: "guest" };
  expect(run(procedures.add, { jobs: [{ ...job, id: "guest's", group: "g", maker }] })).toEqual([
    { id: "guest's", duplicate: false },
  ]);
  const take = {
    queue: "q",
    limit: 5,
    restrictedLimit: 5,
    maxBytes: 100,
    except: [],
    run: "r",
    take: 1,
  };
  const { jobs } = run(procedures.take, take);
  expect(jobs.map(({ id, maker: made }) => [id, made])).toEqual([
    ["first", undefined],
    ["guest's", maker],
  ]);
  expect(
    run(procedures.done, {
      seq: 1,
      run: "r",
      keep: { count: 0, ageMs: 1 },
      result: "null",
      endedAt: 10,
      durationMs: 1,
    }),
  ).toEqual({ queue: "q", unblocked: true });
  expect(run(procedures.job, "first")).toEqual({ queue: "q", ended: "done" });
  expect(run(procedures.subscriptions, null)).toMatchObject([{ topic: "t", functionId: "f", owner: "" }]);
  expect(run(procedures.backlogs, null)).toEqual([{ topic: "u", messages: 1, bytes: 1 }]);
  const subscription = {
    queue: "topic:u>f",
    functionId: undefined,
    priority: 0,
    maxAttempts: 1,
    dedupeWindowMs: 0,
    limits,
  };
  expect(
    run(procedures.subscribe, {
      topic: "u",
      functionId: "f",
      config: "{}",
      owner: "",
      ageMs: 1_000,
      job: subscription,
    }),
  ).toBe(1);
});

it("what a file of version 3 holds of restricted principals loads, and may run by anybody's function", () => {
  database = openDatabase(":memory:");
  database.exec(schema.slice(0, 3).join(";\n"));
  database.exec(`
    INSERT INTO queues (id, name, waiting, bytes, added, restricted_depth, restricted_bytes) VALUES (1, 'q', 1, 1, 1, 1, 1);
    INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, principal, role)
      VALUES (1, 'first', 1, 'work', 0, 0, 5, 0, 5, 0, 3, 1, 'role guest', 'guest');
    INSERT INTO bodies (seq, data) VALUES (1, '1');
    INSERT INTO shares (queue, principal, depth, bytes, dead) VALUES (1, 'role guest', 1, 1, 0);
  `);
  database.exec(schema.slice(3).join(";\n"));
  const procedures = openProcedures(database, () => {}, TIME, NO_RUNS);
  const take = {
    queue: "q",
    limit: 5,
    restrictedLimit: 5,
    maxBytes: 100,
    except: [],
    run: "r",
    take: 1,
  };
  expect(procedures.take.run(take).jobs).toMatchObject([
    { id: "first", maker: { principal: "role guest", role: "guest" }, provider: undefined },
  ]);
});
