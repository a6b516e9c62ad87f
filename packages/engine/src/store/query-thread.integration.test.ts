import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { openDatabase } from "./driver.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-query-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

/** Takes some 100 ms. */
const LONG =
  "WITH RECURSIVE counter(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM counter WHERE x < 1000000) SELECT count(*) FROM counter";

// libsql ended the process of a thread that was terminated during a statement. So this needs a process of its own.
it("a statement that is aborted at any moment leaves the process running", async () => {
  const file = join(folder, "some.db");
  openDatabase(file).close();
  const program = `
    import { systemClock } from ${urlOf("../kernel/clock.js")};
    import { runInThread } from ${urlOf("./query-thread.js")};
    for (let afterMs = 20; afterMs <= 200; afterMs += 30) {
      const abort = new AbortController();
      systemClock.after(afterMs, () => abort.abort());
      const options = { file: ${JSON.stringify(file)}, clock: systemClock, timeoutMs: 60_000, signal: abort.signal };
      await runInThread(${JSON.stringify(LONG)}, [], options).then(
        () => console.log("ended"),
        ({ message }) => console.log(message),
      );
    }`;
  const programFile = join(folder, "program.mjs");
  writeFileSync(programFile, program);
  const { stdout } = await promisify(execFile)(process.execPath, [programFile]);
  const lines = stdout.trim().split("\n");
  expect(lines).toHaveLength(7);
  expect(new Set([...lines, "ended"])).toEqual(new Set(["ended", "the store is closing"]));
});
