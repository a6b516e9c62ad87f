import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;
const svc = (...args: readonly string[]): Promise<Ended> => system.svc(args);
const events: unknown[] = [];

const CONFIG = `workers:
  - name: svc-state
    config: {adapter: {name: in_memory}}
  - name: svc-event
  - name: svc-cron
  - name: svc-queue
    config:
      adapter: {name: in_memory}
      queue_configs:
        default: {max_attempts: 1}
        later: {max_attempts: 1}
`;

beforeAll(async () => {
  system = await testSystem(CONFIG);
  const { worker } = system;
  worker.registerFunction("orders::note", (input) => void events.push(input));
  worker.registerFunction("orders::fail", () => {
    throw new Error("no stock");
  });
  worker.registerFunction("report::nightly", () => ({ rows: 3 }));
  await Promise.all([
    worker.registerTrigger({ type: "event", function_id: "orders::note", config: { topic: "orders.created" } })
      .registered,
    worker.registerTrigger({
      type: "cron",
      function_id: "report::nightly",
      config: { expression: "0 3 * * *", timezone: "Europe/Berlin" },
    }).registered,
    worker.registerTrigger({ type: "cron", function_id: "orders::fail", config: { expression: "0 4 * * *" } })
      .registered,
  ]);
}, 60_000);

afterAll(() => system.stop());

describe("svc state", () => {
  it("stores, prints and deletes a value with exact numbers", async () => {
    expect(await svc("state", "set", "math", "total", "9007199254740993")).toEqual({
      status: EXIT.done,
      out: "",
      notes: "Stored math/total, version 1\n",
    });
    expect(await svc("state", "get", "math", "total")).toEqual({
      status: EXIT.done,
      out: "9007199254740993\n",
      notes: "",
    });
    expect((await svc("state", "get", "math", "total", "--json")).out).toMatch(
      /^\{"key":"total","value":9007199254740993,"version":1,/,
    );
    expect(await svc("state", "delete", "math", "total", "--json")).toMatchObject({
      status: EXIT.done,
      out: '{"deleted":1}\n',
      notes: "Deleted math/total\n",
    });
    expect((await svc("state", "get", "math", "total")).status).toBe(EXIT.failed);
  });

  it("truncates no scope and no key, however narrow the terminal", async () => {
    const [scope, key] = ["orders-of-the-whole-last-year", "order-7-of-the-second-of-november-at-noon"];
    await svc("state", "set", scope, key, '{"lines": ["one", "two", "three"]}');
    expect((await system.svc(["state", "list"], { outColumns: 40 })).out).toContain(`${scope} `);
    expect((await system.svc(["state", "list", scope], { outColumns: 70 })).out).toMatch(
      new RegExp(`^${key} .*…$`, "m"),
    );
    await svc("state", "delete", scope, key);
  });

  it("reads the value from a file, from standard input, and as a string", async () => {
    writeFileSync(join(system.project.dir, "ada.json"), '{"name": "Ada"}');
    await svc("state", "set", "users", "ada", "--file", "ada.json");
    await system.svc(["state", "set", "users", "bob", "-"], { stdin: '{"name": "Bob"}' });
    await system.svc(["state", "set", "users", "text", "-", "--text"], { stdin: "plain" });
    await svc("state", "set", "users", "null", "null");
    expect((await svc("state", "get", "users", "ada")).out).toBe('{"name":"Ada"}\n');
    expect((await svc("state", "get", "users", "bob")).out).toBe('{"name":"Bob"}\n');
    expect((await svc("state", "get", "users", "text")).out).toBe('"plain"\n');
    expect(await svc("state", "get", "users", "null")).toMatchObject({ status: EXIT.done, out: "null\n" });
  });

  it("stores only if the version matches", async () => {
    await svc("state", "set", "versions", "k", "1");
    expect(await svc("state", "set", "versions", "k", "2", "--if-version", "7")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("version"),
    });
    expect(await svc("state", "set", "versions", "k", "2", "--if-version", "1", "--json")).toMatchObject({
      status: EXIT.done,
      out: expect.stringContaining('"version":2'),
    });
    expect(await svc("state", "delete", "versions", "k", "--if-version", "1")).toMatchObject({ status: EXIT.failed });
    expect(await svc("state", "delete", "versions", "k", "--if-version", "2")).toMatchObject({ status: EXIT.done });
  });

  it("lists scopes, and the keys of one, page by page", async () => {
    for (const key of ["a1", "a2", "b1"]) await svc("state", "set", "listed", key, '{"n": 9007199254740993}');
    expect((await svc("state", "list")).out).toMatch(/^listed +3 +\d+ B$/m);
    expect((await svc("state", "list", "listed", "--prefix", "a")).out).toMatch(
      /^a1 +1 +(?:now|\d+ s ago) +\{"n":9007199254740993\}\na2 .*\n$/m,
    );
    const first = await svc("state", "list", "listed", "--limit", "2");
    const [, cursor = ""] = /2 of 3 shown; next page: --cursor (\S+)/.exec(first.notes) ?? [];
    expect((await svc("state", "list", "listed", "--cursor", cursor)).out).toMatch(/^b1 /m);
    expect((await svc("state", "list", "listed", "--json")).out).toContain('"value":{"n":9007199254740993}');
  });

  it("exports items to a file or standard output, and imports them with their versions", async () => {
    for (const value of ["1", "2", "9007199254740993"]) await svc("state", "set", "moved", "k", value);
    await svc("state", "set", "moved", "other", "0");
    expect(await svc("state", "export", "moved", "--file", "moved.ndjson")).toEqual({
      status: EXIT.done,
      out: "",
      notes: "Exported 2 items\n",
    });
    const lines = readFileSync(join(system.project.dir, "moved.ndjson"), "utf8");
    expect(lines).toMatch(/^\{"scope":"moved","key":"k","value":9007199254740993,"version":3,/);
    expect((await svc("state", "export", "moved", "--prefix", "o")).out).toBe(`${lines.split("\n")[1]}\n`);
    const renamed = lines.replaceAll('"moved"', '"arrived"');
    writeFileSync(join(system.project.dir, "arrived.ndjson"), renamed);
    expect(await svc("state", "import", "arrived.ndjson", "--json")).toEqual({
      status: EXIT.done,
      out: '{"imported":2,"skipped":0}\n',
      notes: "Imported 2 items\n",
    });
    expect((await svc("state", "get", "arrived", "k", "--json")).out).toContain(
      '"value":9007199254740993,"version":3,',
    );
    expect(await system.svc(["state", "import", "-", "--on-existing", "skip"], { stdin: renamed })).toMatchObject({
      notes: "Imported 0 items, skipped 2\n",
    });
    expect(await system.svc(["state", "import", "-"], { stdin: `${renamed}{"scope":1}\n` })).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("line 3: `scope`"),
    });
    expect(await svc("state", "import", "gone.ndjson")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("gone.ndjson cannot be read: there is no such file"),
    });
    expect(await svc("state", "export", "--file", "no/such/folder")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("no/such/folder cannot be written: "),
    });
  });

  it("imports no folder", async () => {
    expect(await svc("state", "import", ".")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining(". cannot be read: it is a folder"),
    });
  });

  it("imports long lines, and lines that end with CR LF", async () => {
    const long = "é".repeat(100_000);
    const lines = ["a", "b"].map((key) => `{"scope":"long","key":"${key}","value":"${long}"}\r\n`);
    writeFileSync(join(system.project.dir, "long.ndjson"), lines.join(""));
    expect(await svc("state", "import", "long.ndjson")).toMatchObject({ notes: "Imported 2 items\n" });
    expect((await svc("state", "get", "long", "b")).out).toBe(`"${long}"\n`);
  });

  it("imports no text that is not UTF-8, and names the line", async () => {
    const line = '{"scope":"latin","key":"k","value":"é"}\n';
    const bytes = Buffer.concat([
      Buffer.from('{"scope":"latin","key":"a","value":"é"}\n'),
      Buffer.from(line, "latin1"),
    ]);
    writeFileSync(join(system.project.dir, "latin.ndjson"), bytes);
    expect(await svc("state", "import", "latin.ndjson")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("Line 2 of latin.ndjson is not UTF-8 text."),
    });
    expect(await system.svc(["state", "import", "-"], { stdin: bytes })).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("Line 2 of standard input is not UTF-8 text."),
    });
    expect((await svc("state", "get", "latin", "k")).status).toBe(EXIT.failed);
  });

  it("exports to a file that only its user may read, beside files of any name", async () => {
    await svc("state", "set", "private", "k", "1");
    const file = join(system.project.dir, "private.ndjson");
    const other = `${file}.part`;
    writeFileSync(file, "old", { mode: 0o644 });
    writeFileSync(other, "of another program", { mode: 0o644 });
    expect(await svc("state", "export", "private", "--file", "private.ndjson")).toMatchObject({ status: EXIT.done });
    expect(readFileSync(other, "utf8")).toBe("of another program");
    expect(readFileSync(file, "utf8")).toMatch(/^\{"scope":"private"/);
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("suggests the nearest scope and the nearest key", async () => {
    await svc("state", "set", "accounts", "running_total", "1");
    expect(await svc("state", "get", "accuonts", "x")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean accounts?"),
    });
    expect(await svc("state", "get", "accounts", "runing_total")).toMatchObject({
      notes: expect.stringContaining("did you mean running_total?"),
    });
    expect(await svc("state", "delete", "accounts", "runing_total")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean running_total?"),
    });
    expect(await svc("state", "list", "accuonts")).toMatchObject({
      status: EXIT.done,
      notes: expect.stringContaining("did you mean accounts?"),
    });
  });

  it("asks before it deletes by prefix, and requires --yes without a terminal", async () => {
    for (const key of ["tmp-1", "tmp-2", "kept"]) await svc("state", "set", "sessions", key, "1");
    expect(await svc("state", "delete", "sessions", "--prefix", "tmp-")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("--yes"),
    });
    const args = ["state", "delete", "sessions", "--prefix", "tmp-"];
    expect(await system.svc(args, { answers: ["n"] })).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("Nothing was changed"),
    });
    expect(await system.svc(args, { answers: ["y"] })).toMatchObject({
      status: EXIT.done,
      notes: expect.stringMatching(
        /^Delete 2 keys, every key of sessions with the prefix tmp-\? .*Deleted 2 of sessions\n$/,
      ),
    });
    expect(await system.svc([...args, "--json"], { answers: [] })).toEqual({
      status: EXIT.done,
      out: '{"deleted":0}\n',
      notes: "There is no key of sessions with the prefix tmp-; nothing was deleted.\n",
    });
    expect(await svc("state", "delete", "sessions")).toMatchObject({ status: EXIT.usage });
  });

  it.each([
    [["state", "set", "a", "b"], "The value is missing"],
    [["state", "set", "a", "b", "{x"], "The value is not JSON"],
    [["state", "set", "a", "b", "1", "--expires-in", "soon"], "Expected a duration"],
    [["state", "set", "a", "b", "1", "--if-version", "-1"], "whole number"],
  ])("ends `svc %j` with 2", async (args, hint) => {
    expect(await svc(...args)).toMatchObject({ status: EXIT.usage, notes: expect.stringContaining(hint) });
  });
});

describe("svc queue", () => {
  it("shows job counts of queues and the error of a dead-letter job", async () => {
    await svc("trigger", "orders::fail", "order=9007199254740993", "--enqueue", "default");
    await expect
      .poll(async () => (await svc("queue", "list")).out)
      .toMatch(/^default +0 +0 +0 +1 +0 +standard, concurrency 10$/m);
    const { out } = await svc("queue", "peek", "default", "--state", "dead");
    expect(out).toMatch(
      /^JOB +FUNCTION +FAILED +DIED +ERROR +DATA\n\S+ +orders::fail +1\/1 +\S.* +no stock +\{"order":9007199254740993\}$/m,
    );
    expect(JSON.parse((await svc("queue", "peek", "default", "--state", "dead", "--json")).out)).toMatchObject({
      jobs: [{ failures: [{ message: "no stock" }] }],
    });
    const narrow = await system.svc(["queue", "peek", "default", "--state", "dead"], {
      outColumns: 80,
      env: { NO_COLOR: "1" },
    });
    const [id = ""] = /^\S+(?= +orders::fail)/m.exec(out) ?? [];
    expect(narrow.out).toContain(`\n${id}  orders::fail`);
    expect(narrow.out).toMatch(/^ {4}no stock$/m);
    expect(await svc("queue", "peek", "default")).toMatchObject({ out: "", notes: "default has no waiting jobs.\n" });
  });

  it("moves dead-letter jobs back to their queue", async () => {
    expect(await svc("queue", "redrive", "default", "--json")).toMatchObject({
      status: EXIT.done,
      out: '{"queue":"default","redriven":1}\n',
      notes: "Moved 1 dead-letter job back to default\n",
    });
  });

  it("pauses and resumes a queue", async () => {
    expect(await svc("queue", "pause", "later", "--json")).toEqual({
      status: EXIT.done,
      out: '{"queue":"later","paused":true}\n',
      notes: "Paused later\n",
    });
    expect((await svc("queue", "list")).out).toMatch(/^later .* paused$/m);
    expect(await svc("queue", "resume", "later")).toMatchObject({ status: EXIT.done, notes: "Resumed later\n" });
    expect((await svc("queue", "list")).out).not.toContain("paused");
  });

  it("moves a dead-letter job back with other data, and deletes another", async () => {
    const dead = async (): Promise<readonly { readonly job_id: string; readonly data: unknown }[]> =>
      (JSON.parse((await svc("queue", "peek", "default", "--state", "dead", "--json")).out) as { jobs: [] }).jobs;
    await expect.poll(async () => (await dead()).length).toBe(1);
    const [first] = await dead();
    expect(
      await svc("queue", "redrive", "default", first?.job_id ?? "", '--payload={"order": 9007199254740993}'),
    ).toMatchObject({ status: EXIT.done, notes: "Moved 1 dead-letter job back to default\n" });
    await expect
      .poll(async () => (await svc("queue", "peek", "default", "--state", "dead")).out)
      .toContain('{"order":9007199254740993}');
    expect(await svc("queue", "redrive", "default", "--payload={")).toMatchObject({ status: EXIT.usage });
    const [again] = await dead();
    expect(await svc("queue", "discard", "default", again?.job_id ?? "")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("Delete 1 dead-letter job from default? There is no terminal to ask on"),
    });
    expect(await svc("queue", "discard", "default", again?.job_id ?? "", "--yes", "--json")).toMatchObject({
      status: EXIT.done,
      out: '{"queue":"default","discarded":1}\n',
      notes: "Deleted 1 dead-letter job from default\n",
    });
    expect(await dead()).toEqual([]);
  });

  it("asks before it purges a queue, and requires --yes without a terminal", async () => {
    await system.worker.call({
      function_id: "queue::enqueue",
      payload: { queue: "later", function_id: "orders::note", delay_ms: 3_600_000 },
    });
    expect(await svc("queue", "purge", "later")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("Delete 1 job from later? There is no terminal to ask on; pass --yes"),
    });
    expect(await system.svc(["queue", "purge", "later"], { answers: ["no"] })).toMatchObject({ status: EXIT.failed });
    expect(await system.svc(["queue", "purge", "later"], { answers: ["yes"] })).toMatchObject({
      status: EXIT.done,
      notes: expect.stringContaining("Deleted 1 job from later"),
    });
    expect(await svc("queue", "purge", "later", "--yes")).toMatchObject({
      status: EXIT.done,
      notes: "later has no waiting jobs.\n",
    });
  });

  it("shows why no worker can run a waiting job", async () => {
    const { out } = await svc("trigger", "orders::noet", "--enqueue", "later");
    const reason = "no connected worker provides the function orders::noet; did you mean orders::note?";
    expect((await svc("queue", "peek", "later")).out).toMatch(
      new RegExp(`^JOB +FUNCTION +FAILED +ADDED +DATA +REASON\\n${out.trim()} .* ${reason.replace("?", "\\?")}$`, "m"),
    );
    expect((await svc("queue", "list")).out).toContain(`Jobs wait in later: ${reason}\n`);
    await svc("queue", "purge", "later", "--yes");
  });

  it("shows done jobs with their result and duration, with secrets masked", async () => {
    system.worker.registerFunction("orders::sign", () => ({ total: 9, api_key: "s3cret" }));
    const id = (await svc("trigger", "orders::sign", "--enqueue", "later")).out.trim();
    await expect
      .poll(async () => (await svc("queue", "peek", "later", "--state", "done")).out)
      .toMatch(
        new RegExp(
          `^JOB +FUNCTION +FAILED +ENDED +TOOK +RESULT\\n${id} +orders::sign +0/1 .* ms +\\{"total":9,"api_key":"`,
          "m",
        ),
      );
    expect((await svc("queue", "peek", "later", "--state", "done")).out).not.toContain("s3cret");
  });

  it("watches a queue: its running jobs with their progress, until it is stopped", async () => {
    let end = (): void => {};
    system.worker.registerFunction("orders::pack", (_, { job }) => {
      job?.progress(0.4, "4 of 10 boxes");
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await svc("trigger", "orders::pack", "--enqueue", "later");
    const { shell, ended } = system.started(["queue", "watch", "later"], { outColumns: 160, env: { NO_COLOR: "1" } });
    await expect.poll(() => shell.written.out).toMatch(/orders::pack .* 40 % 4 of 10 boxes/);
    end();
    await expect.poll(() => shell.written.out).toMatch(/later +0 +0 +0 +0 +\d+ +standard/);
    shell.stop("SIGINT");
    expect(await ended).toBe(EXIT.done);
    expect(await svc("queue", "watch", "later")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("needs a terminal"),
    });
  });

  it.each(["peek", "redrive", "purge", "pause", "resume"])("%s suggests the nearest queue", async (verb) => {
    expect(await svc("queue", verb, "defualt")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean default?"),
    });
  });
});

describe("svc event emit", () => {
  it("publishes an event and prints how many triggers received it", async () => {
    expect(await svc("event", "emit", "orders.created", "id=7")).toEqual({
      status: EXIT.done,
      out: "",
      notes: "Published orders.created: 1 trigger received it\n",
    });
    await expect.poll(() => events).toContainEqual({ id: 7 });
    expect((await svc("event", "emit", "orders.created", '{"id": 8}', "--json")).out).toBe(
      '{"topic":"orders.created","delivered_to":1}\n',
    );
  });

  it("reports that no trigger listens and suggests the nearest topic", async () => {
    expect(await svc("event", "emit", "order.created")).toMatchObject({
      status: EXIT.done,
      notes: expect.stringContaining("no trigger listens to order.created; did you mean orders.created?"),
    });
    expect(await svc("event", "emit", "orders.created", "{a:", "b}")).toMatchObject({ status: EXIT.usage });
  });
});

describe("svc cron", () => {
  it("lists schedules, and runs one now", async () => {
    expect((await svc("cron", "list")).out).toMatch(
      /^report::nightly +0 3 \* \* \* \(Europe\/Berlin\) +in \d.* +never +active +\S+$/m,
    );
    expect(await svc("cron", "run", "report::nightly")).toEqual({
      status: EXIT.done,
      out: "",
      notes: "Ran report::nightly\n",
    });
    expect(JSON.parse((await svc("cron", "run", "report::nightly", "--json")).out)).toMatchObject({
      outcome: "ok",
      result: { rows: 3 },
    });
    expect((await svc("cron", "list")).out).toMatch(/^report::nightly .* ok, (?:now|\d+ s ago) +active/m);
  });

  it("accepts the id of a trigger or its first characters", async () => {
    const { triggers } = JSON.parse((await svc("cron", "list", "--json")).out) as {
      triggers: { trigger_id: string; function_id: string }[];
    };
    const id = triggers.find(({ function_id }) => function_id === "report::nightly")?.trigger_id ?? "";
    expect((await svc("cron", "run", id)).status).toBe(EXIT.done);
    expect((await svc("cron", "run", id.slice(0, 20))).status).toBe(EXIT.done);
  });

  it("fails if the run fails, and suggests the nearest schedule", async () => {
    expect(await svc("cron", "run", "orders::fail")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("no stock"),
    });
    expect(await svc("cron", "run", "report::nigthly")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean report::nightly?"),
    });
  });
});
