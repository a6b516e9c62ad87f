/**
 * SQL of each schema version. Only append to it.
 *
 * `jobs.state`: 0 ready, 1 blocked by an earlier job of its group, 2 delayed, 3 active, 4 dead, 5 done. `due` orders
 * ready jobs, and is when a delayed job may run. `timed`: 0 `due` is the time of acceptance, 1 `due` was computed from
 * a duration, 2 `due` is an instant that the caller chose. Instants are on the wall clock, like `created_at`,
 * `failed_at` and `ended_at`. Other times (`due`, `expires_at`, `seen_at`, `backlog.at`) are in the time of the log
 * (`StoreTime`). `function` is empty if the job names none. Data is in a separate table, so that a change of state does
 * not write it again.
 *
 * `principal` is the restricted principal that made the job, or empty for a trusted caller; `role` is its role. The
 * counts of queues cover all jobs; `restricted_*` and `shares` cover jobs of restricted principals, together and per
 * principal. `provider` is the restricted principal that provided the function when a restricted principal made the
 * job; no other provider's function runs it.
 *
 * `lease_run` is the run of the engine that runs an active job, and `lease_take` the number of the take, within that
 * run, that leased it.
 *
 * A done job is kept until `expires_at`, without its data. `result` is null if the result was not kept. `kept` counts
 * done jobs.
 */
export const schema: readonly string[] = [
  `CREATE TABLE queues (
     id INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     paused INTEGER NOT NULL DEFAULT 0,
     last_due INTEGER NOT NULL DEFAULT 0,
     waiting INTEGER NOT NULL DEFAULT 0,
     delayed INTEGER NOT NULL DEFAULT 0,
     active INTEGER NOT NULL DEFAULT 0,
     dead INTEGER NOT NULL DEFAULT 0,
     bytes INTEGER NOT NULL DEFAULT 0,
     added INTEGER NOT NULL DEFAULT 0,
     done INTEGER NOT NULL DEFAULT 0,
     died INTEGER NOT NULL DEFAULT 0,
     expired INTEGER NOT NULL DEFAULT 0,
     cancelled INTEGER NOT NULL DEFAULT 0
   );
   CREATE TABLE jobs (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     queue INTEGER NOT NULL,
     function TEXT NOT NULL,
     state INTEGER NOT NULL,
     priority INTEGER NOT NULL,
     due INTEGER NOT NULL,
     timed INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     expires_at INTEGER,
     failed_at INTEGER,
     attempts INTEGER NOT NULL,
     max_attempts INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     lease_run TEXT,
     lease_until INTEGER,
     grp TEXT,
     dedupe TEXT,
     traceparent TEXT,
     baggage TEXT
   );
   CREATE INDEX ready_jobs ON jobs (queue, function, priority DESC, due, seq) WHERE state = 0;
   CREATE INDEX waiting_jobs ON jobs (queue, seq) WHERE state < 2;
   CREATE INDEX delayed_jobs ON jobs (queue, due, seq) WHERE state = 2;
   CREATE INDEX active_jobs ON jobs (queue, seq) WHERE state = 3;
   CREATE INDEX dead_jobs ON jobs (queue, failed_at, seq) WHERE state = 4;
   CREATE INDEX live_groups ON jobs (queue, grp, seq) WHERE grp IS NOT NULL AND state < 4;
   CREATE INDEX ending_jobs ON jobs (expires_at) WHERE expires_at IS NOT NULL AND state < 3;
   CREATE TABLE bodies (seq INTEGER PRIMARY KEY, data TEXT NOT NULL);
   CREATE TABLE failures (
     id INTEGER PRIMARY KEY,
     job INTEGER NOT NULL,
     attempt INTEGER NOT NULL,
     at INTEGER NOT NULL,
     code TEXT NOT NULL,
     message TEXT NOT NULL,
     stack TEXT,
     worker TEXT,
     trace TEXT
   );
   CREATE INDEX failures_of_job ON failures (job, id);
   CREATE TABLE dedupe_keys (
     queue INTEGER NOT NULL,
     key TEXT NOT NULL,
     job TEXT NOT NULL,
     ended TEXT,
     expires_at INTEGER NOT NULL,
     PRIMARY KEY (queue, key)
   ) WITHOUT ROWID;
   CREATE INDEX dedupe_keys_of_job ON dedupe_keys (job);
   CREATE INDEX ending_dedupe_keys ON dedupe_keys (expires_at)`,
  `CREATE TABLE subscriptions (
     topic TEXT NOT NULL,
     function TEXT NOT NULL,
     config TEXT NOT NULL,
     seen_at INTEGER NOT NULL,
     PRIMARY KEY (topic, function)
   ) WITHOUT ROWID;
   CREATE TABLE backlog (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL,
     topic TEXT NOT NULL,
     data TEXT NOT NULL,
     bytes INTEGER NOT NULL,
     at INTEGER NOT NULL,
     traceparent TEXT,
     baggage TEXT
   );
   CREATE INDEX backlog_of_topic ON backlog (topic, seq);
   CREATE INDEX old_backlog ON backlog (at);
   CREATE TABLE backlog_counts (topic TEXT PRIMARY KEY, messages INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID`,
  `ALTER TABLE jobs ADD COLUMN principal TEXT NOT NULL DEFAULT '';
   ALTER TABLE jobs ADD COLUMN role TEXT;
   DROP INDEX ready_jobs;
   CREATE INDEX ready_trusted_jobs ON jobs (queue, function, priority DESC, due, seq) WHERE state = 0 AND principal = '';
   CREATE INDEX ready_restricted_jobs ON jobs (queue, function, priority DESC, due, seq) WHERE state = 0 AND principal <> '';
   DROP INDEX live_groups;
   CREATE INDEX live_groups ON jobs (queue, principal, grp, seq) WHERE grp IS NOT NULL AND state < 4;
   ALTER TABLE queues ADD COLUMN restricted_depth INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE queues ADD COLUMN restricted_bytes INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE queues ADD COLUMN restricted_dead INTEGER NOT NULL DEFAULT 0;
   CREATE TABLE shares (
     queue INTEGER NOT NULL,
     principal TEXT NOT NULL,
     depth INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     dead INTEGER NOT NULL,
     PRIMARY KEY (queue, principal)
   ) WITHOUT ROWID;
   ALTER TABLE dedupe_keys RENAME TO dedupe_keys_before;
   CREATE TABLE dedupe_keys (
     queue INTEGER NOT NULL,
     principal TEXT NOT NULL,
     key TEXT NOT NULL,
     job TEXT NOT NULL,
     ended TEXT,
     expires_at INTEGER NOT NULL,
     PRIMARY KEY (queue, principal, key)
   ) WITHOUT ROWID;
   INSERT INTO dedupe_keys (queue, principal, key, job, ended, expires_at) SELECT queue, '', key, job, ended, expires_at FROM dedupe_keys_before;
   DROP TABLE dedupe_keys_before;
   CREATE INDEX dedupe_keys_of_job ON dedupe_keys (job);
   CREATE INDEX ending_dedupe_keys ON dedupe_keys (expires_at);
   ALTER TABLE subscriptions ADD COLUMN principal TEXT NOT NULL DEFAULT '';
   ALTER TABLE backlog ADD COLUMN principal TEXT NOT NULL DEFAULT '';
   ALTER TABLE backlog ADD COLUMN role TEXT;
   CREATE INDEX restricted_backlog ON backlog (seq) WHERE principal <> '';
   CREATE INDEX restricted_backlog_of_topic ON backlog (topic, seq) WHERE principal <> '';
   CREATE INDEX restricted_backlog_of_principal ON backlog (principal, seq) WHERE principal <> '';
   CREATE INDEX restricted_backlog_of_principal_in_topic ON backlog (principal, topic, seq) WHERE principal <> '';
   CREATE TABLE backlog_shares (
     principal TEXT NOT NULL,
     topic TEXT NOT NULL,
     messages INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     PRIMARY KEY (principal, topic)
   ) WITHOUT ROWID`,
  "ALTER TABLE jobs ADD COLUMN provider TEXT",
  `ALTER TABLE jobs ADD COLUMN ended_at INTEGER;
   ALTER TABLE jobs ADD COLUMN duration_ms INTEGER;
   ALTER TABLE jobs ADD COLUMN result TEXT;
   CREATE INDEX done_jobs ON jobs (queue, expires_at, seq) WHERE state = 5;
   CREATE INDEX restricted_done_jobs ON jobs (queue, expires_at, seq) WHERE state = 5 AND principal <> '';
   CREATE INDEX done_jobs_of_principal ON jobs (queue, principal, expires_at, seq) WHERE state = 5 AND principal <> '';
   ALTER TABLE queues ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE queues ADD COLUMN restricted_kept INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE shares ADD COLUMN kept INTEGER NOT NULL DEFAULT 0`,
  // A lease no longer ends at a fixed time: it belongs to a run. So the column now holds the number of the take.
  "ALTER TABLE jobs RENAME COLUMN lease_until TO lease_take",
  // The index contains `timed`, because `due` is in the time of the log for delays and on the wall clock for instants.
  `DROP INDEX delayed_jobs;
   CREATE INDEX delayed_jobs ON jobs (queue, timed, due, seq) WHERE state = 2`,
  // Which engines of a cluster have triggers of a subscription.
  `CREATE TABLE subscription_holders (
     topic TEXT NOT NULL,
     function TEXT NOT NULL,
     run TEXT NOT NULL,
     PRIMARY KEY (topic, function, run)
   ) WITHOUT ROWID;
   CREATE INDEX subscriptions_of_run ON subscription_holders (run)`,
];
