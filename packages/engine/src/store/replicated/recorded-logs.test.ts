import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { defaultDriver } from "../driver.ts";
import type { ProceduresModule } from "../procedures.ts";
import { decodeEntry, decodeRequests } from "./entry.ts";
import { FINGERPRINT } from "./fingerprint.ts";
import { MEMBER_PROCEDURES } from "./members.ts";
import { openMemoryDatabase } from "./open-replica.ts";
import { type RecordedLog, replay } from "./testing/recorded-logs.ts";

const folder = new URL("../../../vectors/logs/", import.meta.url);
/** By the version that recorded them, the newest last. */
const versions = readdirSync(folder).sort((one, other) => one.localeCompare(other, "en", { numeric: true }));

function recordedBy(file: string): readonly RecordedLog[] {
  const lines = gunzipSync(readFileSync(new URL(file, folder)))
    .toString()
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as RecordedLog);
}

function moduleOf({ store }: RecordedLog): Promise<ProceduresModule> {
  return import(new URL(`../../${store}.js`, import.meta.url).href) as Promise<ProceduresModule>;
}

/** Names of the procedures that the entries of a log call. */
function called({ entries }: RecordedLog): readonly string[] {
  return entries.flatMap(([, text]) => {
    const { header, body } = decodeEntry(Buffer.from(text));
    return header.kind === "part" ? [] : decodeRequests(body).map(({ procedure }) => procedure);
  });
}

describe.each(versions)("logs that were recorded as %s", (file) => {
  const logs = recordedBy(file);

  it.each(logs.map((log, index) => [index, log.store, log] as const))(
    "make the same rows and answers today: %i, %s",
    async (_index, _store, log) => {
      expect(replay(log, await moduleOf(log))).toEqual({ answers: log.answers, rows: log.rows });
    },
  );

  it("make other rows or answers if a procedure does something else", async () => {
    const log = logs.find((each) => called(each).includes("set"));
    if (log === undefined) throw new Error("no log sets an item");
    const module = await moduleOf(log);
    const changed: ProceduresModule = {
      ...module,
      openProcedures(...parts) {
        const procedures = module.openProcedures(...parts);
        const { set } = procedures;
        if (set === undefined) throw new Error("there is no procedure `set`");
        const run = (input: unknown): unknown => set.run({ ...(input as object), json: '"other"' } as never);
        return { ...procedures, set: { ...set, run } };
      },
    };
    expect(replay(log, changed)).not.toEqual({ answers: log.answers, rows: log.rows });
  });
});

it("the newest recorded logs call every procedure that writes", async () => {
  const logs = recordedBy(versions.at(-1) ?? "");
  const stores = new Map(logs.map((log) => [log.store, log]));
  expect([...stores.keys()].sort()).toEqual([
    "items/adapters/file-thread/procedures",
    "modules/cron/store/procedures",
    "modules/queue/store/procedures",
  ]);
  for (const [store, log] of stores) {
    const module = await moduleOf(log);
    const database = openMemoryDatabase(module, { driver: defaultDriver(), seed: undefined });
    const time = { now: () => 0, wall: () => 0 };
    const procedures = module.openProcedures(database, () => {}, time, { isMember: () => true });
    const writes = Object.entries(procedures).flatMap(([name, { kind }]) => (kind === "write" ? [name] : []));
    const calls = new Set(logs.filter((each) => each.store === store).flatMap(called));
    expect({ store, missing: writes.filter((name) => !calls.has(name)) }).toEqual({ store, missing: [] });
    database.close();
  }
  const all = new Set(logs.flatMap(called));
  expect([FINGERPRINT, ...Object.values(MEMBER_PROCEDURES)].filter((name) => !all.has(name))).toEqual([]);
});
