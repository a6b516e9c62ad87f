/**
 * SQL migrations, one per version of the file. New ones are added at the end; existing ones must never be changed.
 *
 * `items.expires_at` is in the time of the log (`StoreTime.now`). All other times are wall-clock times.
 *
 * `scopes.floor` is the highest version of a deletion in the scope. `shared_floor` is the highest floor of all scopes
 * whose rows were deleted. In each table, small columns come before large ones. So SQLite can read the small ones
 * without the pages of a large value.
 */
export const schema: readonly string[] = [
  `CREATE TABLE scopes (
     scope TEXT PRIMARY KEY,
     items INTEGER NOT NULL,
     floor INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX empty_scopes ON scopes (floor) WHERE items = 0;
   CREATE TABLE items (
     id INTEGER PRIMARY KEY,
     scope TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     json TEXT NOT NULL,
     UNIQUE (scope, key)
   );
   CREATE TABLE shared_floor (version INTEGER NOT NULL);
   INSERT INTO shared_floor VALUES (0)`,
  // Adds expiry times, sizes of scopes, and the outbox: one row per change and one delivery per watcher.
  `ALTER TABLE items RENAME TO items_without_end;
   CREATE TABLE items (
     id INTEGER PRIMARY KEY,
     scope TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     expires_at INTEGER,
     bytes INTEGER NOT NULL,
     json TEXT NOT NULL,
     UNIQUE (scope, key)
   );
   INSERT INTO items SELECT id, scope, key, version, updated_at, NULL, bytes, json FROM items_without_end;
   DROP TABLE items_without_end;
   CREATE INDEX ending_items ON items (expires_at) WHERE expires_at IS NOT NULL;
   ALTER TABLE scopes ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
   UPDATE scopes SET bytes = (SELECT coalesce(sum(items.bytes), 0) FROM items WHERE items.scope = scopes.scope);
   CREATE TABLE watchers (
     id INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     waiting INTEGER NOT NULL
   );
   CREATE TABLE changes (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     kind TEXT NOT NULL,
     scope TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     at INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     origin TEXT NOT NULL,
     previous TEXT,
     json TEXT
   );
   CREATE TABLE deliveries (
     seq INTEGER NOT NULL,
     watcher INTEGER NOT NULL,
     PRIMARY KEY (seq, watcher)
   ) WITHOUT ROWID;
   CREATE UNIQUE INDEX deliveries_of_watcher ON deliveries (watcher, seq)`,
  // Adds watchers that the engines of a cluster share, and the engines that have triggers for these watchers.
  `CREATE TABLE shared_watchers (
     id TEXT PRIMARY KEY,
     scope TEXT,
     key TEXT,
     prefix TEXT NOT NULL,
     kinds TEXT NOT NULL,
     trusted INTEGER NOT NULL,
     name TEXT NOT NULL,
     claimed_by TEXT
   ) WITHOUT ROWID;
   CREATE TABLE watcher_engines (
     watcher TEXT NOT NULL,
     engine TEXT NOT NULL,
     can_deliver INTEGER NOT NULL,
     PRIMARY KEY (watcher, engine)
   ) WITHOUT ROWID`,
];
