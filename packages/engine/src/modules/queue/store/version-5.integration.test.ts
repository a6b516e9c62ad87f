import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openDatabase } from "../../../store/driver.ts";
import { openStore } from "../../../store/open-store.ts";
import { manualClock } from "../../../testing/manual-clock.ts";
import { openQueueStore } from "./open-queue-store.ts";
import { schema } from "./schema.ts";

const root = mkdtempSync(join(tmpdir(), "svc-queue-version-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The rows that an engine with files of version 5 left when it was killed. Only the ids were replaced. */
const ROWS = `
INSERT INTO queues (id, name, paused, last_due, waiting, delayed, active, dead, bytes, added, done, died, expired, cancelled, restricted_depth, restricted_bytes, restricted_dead, kept, restricted_kept) VALUES (1, 'q', 0, 1767225600000, 4, 3, 1, 1, 63, 10, 1, 1, 0, 0, 0, 0, 0, 1, 0);
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, expires_at, attempts, max_attempts, bytes, lease_until, principal, ended_at, duration_ms, result) VALUES (1, 'done', 1, 'ok', 5, 0, 1767225600000, 0, 1767225600000, 1767229200000, 0, 2, 7, 30000, '', 1767225600000, 0, '{"total":3}');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, failed_at, attempts, max_attempts, bytes, lease_until, principal) VALUES (2, 'dead', 1, 'fails', 4, 0, 1767225600000, 0, 1767225600000, 1767225600000, 1, 1, 7, 30000, '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, lease_until, principal) VALUES (3, 'retried', 1, 'fails', 2, 0, 1767225655165, 1, 1767225600000, 1, 2, 7, 30000, '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, principal) VALUES (4, 'delayed', 1, 'later', 2, 0, 1767226200000, 1, 1767225600000, 0, 2, 7, '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, principal) VALUES (5, 'instant', 1, 'later', 2, 0, 1767232800000, 2, 1767225600000, 0, 2, 7, '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, lease_until, dedupe, principal) VALUES (6, 'keyed', 1, 'missing', 0, 0, 1767225600000, 0, 1767225600000, 0, 2, 7, 30000, 'k', '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, expires_at, attempts, max_attempts, bytes, lease_until, principal) VALUES (7, 'ending', 1, 'missing', 0, 0, 1767225600000, 0, 1767225600000, 1767229200000, 0, 2, 7, 30000, '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, grp, principal) VALUES (8, 'group-1', 1, 'missing', 0, 0, 1767225600000, 0, 1767225600000, 0, 2, 7, 'g', '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, grp, principal) VALUES (9, 'group-2', 1, 'missing', 1, 0, 1767225600000, 0, 1767225600000, 0, 2, 7, 'g', '');
INSERT INTO jobs (seq, id, queue, function, state, priority, due, timed, created_at, attempts, max_attempts, bytes, lease_run, lease_until, principal) VALUES (10, 'active', 1, 'hangs', 3, 0, 1767225600000, 0, 1767225600000, 0, 2, 7, 'gone', 40000, '');
INSERT INTO bodies (seq, data) VALUES (2, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (3, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (4, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (5, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (6, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (7, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (8, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (9, '{"n":1}');
INSERT INTO bodies (seq, data) VALUES (10, '{"n":1}');
INSERT INTO failures (id, job, attempt, at, code, message, worker, trace) VALUES (1, 2, 1, 1767225600000, 'invocation_failed', 'no', 'w (fda4888d-dea8-45ba-ae83-c36c1a611edf)', 'dc0609d9c6323ade2f49a6e2983f41f8');
INSERT INTO failures (id, job, attempt, at, code, message, worker, trace) VALUES (2, 3, 1, 1767225600000, 'invocation_failed', 'no', 'w (fda4888d-dea8-45ba-ae83-c36c1a611edf)', 'd67fae43957881a104d83b23d215f34d');
INSERT INTO backlog (seq, id, topic, data, bytes, at, principal) VALUES (1, '4d7f39ee-4582-45bd-af87-81080f4860df', 't', '1', 1, 1767225600000, '');
INSERT INTO backlog_counts (topic, messages, bytes) VALUES ('', 1, 1);
INSERT INTO backlog_counts (topic, messages, bytes) VALUES ('t', 1, 1);
INSERT INTO dedupe_keys (queue, principal, key, job, expires_at) VALUES (1, '', 'k', 'keyed', 1767226200000);
`;

it("a file of version 5 keeps its jobs, with their delays, instants, times to live and leases", async () => {
  const older = openDatabase(join(root, "queue.db"));
  older.exec(`PRAGMA journal_mode=WAL; ${schema.slice(0, 5).join(";\n")}; ${ROWS}; PRAGMA user_version=5`);
  older.close();
  const start = Date.UTC(2026, 0, 1);
  const clock = manualClock(start + 30_000);
  const store = await openQueueStore(
    { name: "file_based", config: { file_path: "queue.db" } },
    { dataDir: root, openStore: (options) => openStore({ ...options, clock }) },
  );
  expect(await store.call("countsOf", "q")).toMatchObject({ waiting: 4, delayed: 3, active: 1, dead: 1, kept: 1 });
  expect(await store.call("job", "done")).toMatchObject({ state: "done", expiresAt: start + 3_600_000 });
  expect(await store.call("job", "dead")).toMatchObject({
    state: "dead",
    failedAt: start,
    failures: [{ message: "no" }],
  });
  expect(await store.call("job", "ending")).toMatchObject({ state: "waiting", expiresAt: start + 3_600_000 });
  expect(await store.call("recover", { members: [store.run] })).toBe(1);
  const take = async () => {
    const wanted = { queue: "q", limit: 10, restrictedLimit: 10, maxBytes: 1_000, except: [], run: store.run, take: 1 };
    const { jobs, nextDueMs } = await store.call("take", wanted);
    return [jobs.map(({ id, attempts }) => [id, attempts]), nextDueMs];
  };
  const waiting = ["keyed", "ending", "group-1", "active"].map((id) => [id, 0]);
  expect(await take()).toEqual([waiting, 25_165]);
  const limits = { maxDepth: 100, maxBytes: 1_000, maxDead: 10 };
  const again = { id: "again", queue: "q", functionId: "f", data: "1", bytes: 1, priority: 0, dedupeKey: "k" };
  expect(await store.call("add", { jobs: [{ ...again, dedupeWindowMs: 1, maxAttempts: 1, limits }] })).toEqual([
    { id: "keyed", duplicate: true },
  ]);
  clock.advance(25_165);
  expect(await take()).toEqual([[["retried", 1]], 600_000 - 55_165]);
  clock.advance(600_000 - 55_165);
  expect(await take()).toEqual([[["delayed", 0]], 6_600_000]);
  // The instant is on the wall clock.
  clock.jumpTo(start + 7_200_000);
  expect(await take()).toEqual([[["instant", 0]], undefined]);
  expect(await store.call("backlogs", null)).toEqual([{ topic: "t", messages: 1, bytes: 1 }]);
  await store.close();
});
