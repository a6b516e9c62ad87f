import type { Database } from "../../../store/driver.ts";
import { type Procedure, Refusal, read, type StoreTime, write } from "../../../store/procedures.ts";
import { type Conflict, type Item, MAX_MANY_BYTES } from "../../item-store.ts";
import {
  type ItemAddress,
  isExpired,
  manyTooLargeText,
  planWrite,
  tooLargeText,
  type WriteIntent,
  type WritePlan,
} from "../../plan-write.ts";
import type { UpdateOp, UpdateOpError } from "../../update-op.ts";
import { type ChangeLog, type LoggedChange, type NoticeInput, UNKNOWN_ORIGIN } from "./deliveries.ts";
import type { ScopeTable } from "./scope-table.ts";
import { stored } from "./stored-text.ts";
import type { WatcherTable } from "./watchers.ts";

/** Input of every write. Expiry times are in the time of the log. */
export interface WriteInput extends ItemAddress {
  /** Time of the change, in milliseconds since 1970. */
  readonly now: number;
  readonly ifVersion?: number;
  readonly leastVersion?: number;
  readonly notice?: NoticeInput;
  /** True in a cluster. The changes are then delivered to the stored watchers too, not only to those of `notice`. */
  readonly isShared?: true;
}

export interface SetInput extends WriteInput {
  readonly json: string;
  readonly bytes: number;
  readonly expiresAt?: number;
}

export interface UpdateInput extends WriteInput {
  /**
   * JSON of the operations. It is not an object, because copying objects between threads is slower. The `json` of an
   * operation keeps digits of numbers that parsing loses.
   */
  readonly opsJson: string;
  readonly atomic: boolean;
  readonly maxBytes: number;
  readonly expiresAt?: number | "keep";
}

export type OneInput = ({ readonly type: "set" } & SetInput) | ({ readonly type: "delete" } & WriteInput);

/**
 * Result of a write. Data that the caller already has is not sent back. Members without a value are absent, not
 * undefined, because copying each member between the threads takes time.
 */
export interface WriteOutput {
  readonly status: "written" | "unchanged";
  /** JSON before the write; absent for a set that changed nothing. */
  readonly previous?: string;
  /** Version of the last change, or of the unchanged item. Absent if nothing was changed and there is no item. */
  readonly version?: number;
  /** Set if the item is unchanged. */
  readonly updatedAt?: number;
  /** The item after an update. */
  readonly updated?: { readonly json: string; readonly bytes: number; readonly expiresAt: number | undefined };
  /** An expired item that the write deleted first, and the version of that deletion. */
  readonly expired?: { readonly json: string; readonly version: number };
  /** Outbox entry of each change. Absent if no watcher wants any of the changes. */
  readonly logged?: readonly (LoggedChange | undefined)[];
  readonly errors?: readonly UpdateOpError[];
}

export type ManyOutput =
  | { readonly status: "written"; readonly writes: readonly WriteOutput[] }
  | { readonly status: "conflict"; readonly index: number; readonly actual: number };

type Row = {
  readonly id: number;
  readonly version: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
  readonly bytes: number;
  readonly json: string;
};

/** An item with its row id. */
interface Found {
  readonly id: number;
  readonly item: Item;
}

/** Opens the procedures that read and write items by key. */
export function openWriteProcedures(
  database: Database,
  { scopes, log, watchers }: { readonly scopes: ScopeTable; readonly log: ChangeLog; readonly watchers: WatcherTable },
  time: StoreTime,
) {
  const one = database.prepare<Row>(
    "SELECT id, version, updated_at, expires_at, bytes, json FROM items WHERE scope = ? AND key = ?",
  );
  const insert = database.prepare(
    "INSERT INTO items (scope, key, version, updated_at, expires_at, bytes, json) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  // Most items do not expire. So there is a separate UPDATE that does not set `expires_at`, and does not touch its
  // index.
  const replace = database.prepare("UPDATE items SET version = ?, updated_at = ?, bytes = ?, json = ? WHERE id = ?");
  const replaceEnding = database.prepare(
    "UPDATE items SET version = ?, updated_at = ?, expires_at = ?, bytes = ?, json = ? WHERE id = ?",
  );
  const remove = database.prepare("DELETE FROM items WHERE id = ?");

  function find({ scope, key }: ItemAddress): Found | undefined {
    const row = one.get(stored(scope), stored(key));
    return row === undefined ? undefined : { id: row.id, item: itemOf(key, row) };
  }

  function alive(scope: string, key: string): Item | undefined {
    const found = find({ scope, key });
    return found === undefined || isExpired(found.item, time.now()) ? undefined : found.item;
  }

  function getMany({
    scope,
    keys,
  }: {
    readonly scope: string;
    readonly keys: readonly string[];
  }): readonly (Item | undefined)[] {
    let bytes = 0;
    return keys.map((key) => {
      const item = alive(scope, key);
      bytes += item?.bytes ?? 0;
      if (bytes > MAX_MANY_BYTES) throw manyTooLarge(bytes);
      return item;
    });
  }

  function perform(input: WriteInput, intent: WriteIntent, replaced?: (bytes: number) => void): WriteOutput | Conflict {
    const found = find(input);
    const { now: at, ifVersion, leastVersion } = input;
    const conditions = { now: time.now(), at, ifVersion, leastVersion };
    const plan = planWrite(found?.item, input, intent, conditions, () => scopes.floor(stored(input.scope)));
    if (plan.status === "conflict") return plan;
    if (plan.status === "too_large") {
      const limit = intent.type === "update" ? intent.update.maxBytes : 0;
      throw new Refusal("payload_too_large", tooLargeText(plan.bytes, limit), { bytes: plan.bytes, limit });
    }
    replaced?.(found?.item.bytes ?? 0);
    const scope = stored(input.scope);
    if (plan.row === "remove" && found !== undefined) {
      remove.run(found.id);
      scopes.note(scope, { items: -1, bytes: -found.item.bytes, floor: found.item.version + 1 });
    } else if (plan.row === "put" && plan.item !== undefined) {
      put(scope, found, plan.item);
    }
    const notice = plan.changes.length > 0 && input.isShared === true ? sharedNotice(input) : input.notice;
    const logged = notice === undefined ? undefined : logChanges(plan, found?.item, notice);
    return outputOf(plan, intent, logged);
  }

  /**
   * Adds the stored watchers, because the writer may not know all of them yet. If the writer gave no notice, the change
   * has no trace.
   */
  function sharedNotice(input: WriteInput): NoticeInput | undefined {
    const found = [...watchers.matching(input), ...(input.notice?.watchers ?? [])];
    return found.length === 0 ? undefined : { watchers: found, origin: input.notice?.origin ?? UNKNOWN_ORIGIN };
  }

  function put(
    scope: string,
    found: Found | undefined,
    { key, version, updatedAt, expiresAt, bytes, json }: Item,
  ): void {
    if (found === undefined) {
      insert.run(scope, stored(key), version, updatedAt, expiresAt ?? null, bytes, json);
      scopes.note(scope, { items: 1, bytes, floor: 0 });
      return;
    }
    if (expiresAt === found.item.expiresAt) replace.run(version, updatedAt, bytes, json, found.id);
    else replaceEnding.run(version, updatedAt, expiresAt ?? null, bytes, json, found.id);
    if (bytes !== found.item.bytes) scopes.note(scope, { items: 0, bytes: bytes - found.item.bytes, floor: 0 });
  }

  function logChanges(
    plan: WritePlan,
    old: Item | undefined,
    notice: NoticeInput,
  ): readonly (LoggedChange | undefined)[] | undefined {
    const logged = plan.changes.map((change) => {
      const bytes =
        (change.previous === undefined ? 0 : (old?.bytes ?? 0)) +
        (change.json === undefined ? 0 : (plan.item?.bytes ?? 0));
      return log.put(change, notice, bytes);
    });
    return logged.some((one) => one !== undefined) ? logged : undefined;
  }

  function writeMany(inputs: readonly OneInput[]): ManyOutput {
    let bytes = 0;
    const count = (more: number): void => {
      bytes += more;
      if (bytes > MAX_MANY_BYTES) throw manyTooLarge(bytes);
    };
    const writes: WriteOutput[] = [];
    scopes.flush();
    database.exec("SAVEPOINT many");
    for (const [index, input] of inputs.entries()) {
      const output = perform(input, input.type === "set" ? setIntent(input) : { type: "delete" }, count);
      if (output.status === "conflict") {
        scopes.discard();
        database.exec("ROLLBACK TO many; RELEASE many");
        return { status: "conflict", index, actual: output.actual };
      }
      writes.push(output);
    }
    database.exec("RELEASE many");
    return { status: "written", writes };
  }

  return {
    get: read(({ scope, key }: ItemAddress) => alive(scope, key)),
    getMany: read(getMany),
    set: write((input: SetInput) => perform(input, setIntent(input))),
    update: write((input: UpdateInput) => {
      const { atomic, maxBytes, expiresAt } = input;
      const ops = JSON.parse(input.opsJson) as readonly UpdateOp[];
      return perform(input, { type: "update", update: { ops, atomic, maxBytes, expiresAt } });
    }),
    delete: write((input: WriteInput) => perform(input, { type: "delete" })),
    writeMany: write(writeMany),
  } satisfies Record<string, Procedure<never, unknown>>;
}

function setIntent({ json, bytes, expiresAt }: SetInput): WriteIntent {
  return { type: "set", value: { json, bytes, expiresAt } };
}

function itemOf(key: string, row: Row): Item {
  return {
    key,
    json: row.json,
    version: row.version,
    updatedAt: row.updated_at,
    bytes: row.bytes,
    expiresAt: row.expires_at ?? undefined,
  };
}

function manyTooLarge(bytes: number): Refusal {
  return new Refusal("payload_too_large", manyTooLargeText(bytes), { bytes, limit: MAX_MANY_BYTES });
}

/**
 * Returns the output without members that have no value, because copying each member between the threads takes time.
 */
function outputOf(plan: WritePlan, intent: WriteIntent, logged: WriteOutput["logged"]): WriteOutput {
  const { status, item, previous, changes, errors } = plan;
  const [first] = changes;
  const version = changes[changes.length - 1]?.version ?? item?.version;
  const output: { -readonly [Member in keyof WriteOutput]: WriteOutput[Member] } = { status };
  if (version !== undefined) output.version = version;
  if (previous !== undefined && (status === "written" || intent.type !== "set")) output.previous = previous;
  if (status === "unchanged" && item !== undefined) output.updatedAt = item.updatedAt;
  if (intent.type === "update" && item !== undefined)
    output.updated = { json: item.json, bytes: item.bytes, expiresAt: item.expiresAt };
  if (first?.kind === "deleted" && previous === undefined)
    output.expired = { json: first.previous ?? "null", version: first.version };
  if (logged !== undefined) output.logged = logged;
  if (errors.length > 0) output.errors = errors;
  return output;
}
