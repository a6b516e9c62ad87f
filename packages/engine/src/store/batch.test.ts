import { afterEach, expect, it } from "vitest";
import { runEntry } from "./batch.ts";
import { type Database, openDatabase } from "./driver.ts";
import { Refusal, write } from "./procedures.ts";

let database: Database;
afterEach(() => database.close());

it("an entry whose answers are large is applied in parts, each with its position, and continues there after a crash", () => {
  database = openDatabase(":memory:");
  database.exec(
    "CREATE TABLE lines (text TEXT); CREATE TABLE position (applied INTEGER); INSERT INTO position VALUES (0)",
  );
  const insert = database.prepare("INSERT INTO lines VALUES (?)");
  const move = database.prepare("UPDATE position SET applied = ?");
  const large = "x".repeat(20 * 1024 * 1024);
  const procedures = {
    add: write((text: string) => {
      insert.run(text);
      if (text === "c") throw new Refusal("state_conflict", "a test");
      return large;
    }),
  };
  const requests = ["a", "b", "c", "d", "e"].map((input) => ({ procedure: "add", input }));
  const position = (): number => Number(database.prepare("SELECT applied FROM position").get()?.applied);
  const parts: unknown[] = [];
  const apply = (crashAfter: number): void =>
    runEntry(database, procedures, { flush: () => {}, discard: () => {} }, requests, {
      from: position(),
      storePosition: (applied) => void move.run(applied),
      onPart(answers, first) {
        parts.push([first, answers.map(({ status }) => status), position()]);
        if (parts.length === crashAfter) throw new Error("a crash");
      },
    });
  expect(() => apply(1)).toThrow("a crash");
  apply(0);
  expect(parts).toEqual([
    [0, ["done", "done"], 2],
    [2, ["refused", "done", "done"], 5],
  ]);
  const lines = database.prepare("SELECT text FROM lines").all();
  expect(lines.map(({ text }) => text)).toEqual(["a", "b", "d", "e"]);
});
