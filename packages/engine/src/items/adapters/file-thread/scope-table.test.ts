import { afterEach, expect, it } from "vitest";
import { type Database, openDatabase } from "../../../store/driver.ts";
import type { Procedure, WriteBuffer } from "../../../store/procedures.ts";
import { openProcedures, schema } from "./procedures.ts";

let database: Database;
afterEach(() => database.close());

function reopen() {
  let flush = (): void => {};
  const time = { now: () => 1, wall: () => 1 };
  const useBuffer = (buffer: WriteBuffer): void => {
    flush = () => buffer.flush();
  };
  const procedures = openProcedures(database, useBuffer, time, { isMember: () => false });
  return {
    procedures,
    run<Input, Output>({ run }: Procedure<Input, Output>, input: Input): Output {
      const output = run(input);
      flush();
      return output;
    },
  };
}

it("empty scopes are folded by a request, not by opening the file, so that databases with equal requests are equal", () => {
  database = openDatabase(":memory:");
  database.exec(`${schema.join(";\n")};
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10001)
    INSERT INTO scopes (scope, items, floor, bytes) SELECT 'emptied ' || n, 0, 7, 0 FROM numbers`);
  const set = (scope: string) => ({ scope, key: "k", now: 1, json: "1", bytes: 1 });
  const { run, procedures } = reopen();
  expect(run(procedures.set, set("new"))).toMatchObject({ version: 1 });
  expect(run(procedures.set, set("emptied 1"))).toMatchObject({ version: 8 });
  expect(run(procedures.foldEmptyScopes, null)).toBe(0);
  run(procedures.delete, { scope: "emptied 1", key: "k", now: 1 });
  expect(run(procedures.foldEmptyScopes, null)).toBe(10_001);
  expect(run(procedures.set, set("another"))).toMatchObject({ version: 10 });
  expect(run(procedures.groups, { prefix: "", after: undefined, limit: 10 }).groups).toEqual([
    { scope: "another", items: 1, bytes: 1 },
    { scope: "new", items: 1, bytes: 1 },
  ]);
});
