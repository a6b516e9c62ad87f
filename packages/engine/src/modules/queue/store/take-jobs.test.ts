import { afterEach, describe, expect, it } from "vitest";
import { type Database, openDatabase, type SqlValue } from "../../../store/driver.ts";
import type { WriteBuffer } from "../../../store/procedures.ts";
import { openProcedures, schema } from "./procedures.ts";

let database: Database;
afterEach(() => database.close());

const FUNCTIONS = 250;
const idOf = (n: number) => `guest::f${String(n).padStart(3, "0")}`;
const all = Array.from({ length: FUNCTIONS }, (_, n) => idOf(n));

/** A queue with one job of a restricted principal for each function. */
function filled() {
  database = openDatabase(":memory:");
  database.exec(schema.join(";\n"));
  let reads = 0;
  const counting: Database = {
    ...database,
    prepare(sql) {
      const statement = database.prepare(sql);
      const count = <T>(read: T): T => {
        if (sql.includes("principal <> ''")) reads += 1;
        return read;
      };
      return {
        ...statement,
        get: (...values: SqlValue[]) => count(statement.get(...values)),
        all: (...values: SqlValue[]) => count(statement.all(...values)),
      } as never;
    },
  };
  let gathering: WriteBuffer | undefined;
  const gather = (given: WriteBuffer): void => {
    gathering = given;
  };
  const procedures = openProcedures(counting, gather, { now: () => 10, wall: () => 10 }, { isMember: () => false });
  const limits = { maxDepth: 10_000, maxBytes: 10_000, maxDead: 10 };
  const job = { queue: "q", data: "1", bytes: 1, priority: 0, dedupeWindowMs: 0, maxAttempts: 3, limits };
  const maker = { principal: "role guest", role: "guest" };
  procedures.add.run({ jobs: all.map((functionId) => ({ ...job, id: functionId, functionId, maker })) });
  gathering?.flush();
  const wanted = {
    queue: "q",
    limit: 10,
    restrictedLimit: 9,
    maxBytes: 100,
    except: [],
    run: "r",
    take: 1,
  };
  return {
    take(input: {
      readonly except?: readonly string[];
      readonly only?: readonly string[];
      readonly restrictedLimit?: number;
      readonly restrictedAfter?: string | undefined;
    }) {
      reads = 0;
      const { jobs, ...rest } = procedures.take.run({ ...wanted, ...input });
      gathering?.flush();
      return { ...rest, taken: jobs.map(({ id }) => id), reads };
    },
  };
}

describe("a take from a queue with jobs of a restricted principal for many functions", () => {
  it("reads none of them where none may run, and says that they are held back", () => {
    const { take } = filled();
    expect(take({ restrictedLimit: 0, restrictedAfter: "x" })).toMatchObject({
      taken: [],
      more: false,
      isHeldBack: true,
      restrictedAfter: "x",
      reads: 1,
    });
  });

  it.each([
    ["all but the last are skipped", { except: all.slice(0, -1) }],
    ["only some are asked for", { only: ["a", ...Array.from({ length: 249 }, (_, n) => `b${n}`), idOf(249)] }],
  ])("looks at some functions, and the next takes at the others: %s", (_, input) => {
    const { take } = filled();
    let restrictedAfter: string | undefined;
    for (let n = 0; n < 2; n++) {
      const { taken, more, reads, ...rest } = take({ ...input, restrictedAfter });
      expect({ taken, more }).toEqual({ taken: [], more: true });
      expect(reads).toBeLessThan(210);
      ({ restrictedAfter } = rest);
    }
    const last = take({ ...input, restrictedAfter });
    expect(last).toMatchObject({ taken: [idOf(249)], more: false, restrictedAfter: undefined });
  });

  it("starves none: jobs of functions that were not looked at are held back, and the next take begins with them", () => {
    const { take } = filled();
    const taken: string[] = [];
    let restrictedAfter: string | undefined;
    for (let n = 0; n < 3; n++) {
      const output = take({ restrictedAfter });
      expect(output).toMatchObject({ isHeldBack: true });
      taken.push(...output.taken);
      ({ restrictedAfter } = output);
    }
    expect(taken).toEqual([0, 100, 200].flatMap((first) => Array.from({ length: 9 }, (_, n) => idOf(first + n))));
    expect(restrictedAfter).toBeUndefined();
  });
});
