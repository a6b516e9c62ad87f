import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;
/** Resolves when `slow::never` runs, and when it was withdrawn. */
let running: Promise<void>;
let withdrawn: Promise<void>;
const notices: unknown[] = [];

beforeAll(async () => {
  system = await testSystem("workers:\n  - name: svc-queue\n");
  const { worker } = system;
  worker.registerFunction("echo::back", (input) => input);
  worker.registerFunction("echo::metadata", (_, { metadata }) => metadata);
  worker.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => ({ c: a + b }));
  worker.registerFunction("math::double", async ({ a }: { a: number }, context) => context.call({ function_id: "math::add", payload: { a, b: a } }));
  worker.registerFunction("math::broken", () => {
    throw new Error("out of numbers");
  });
  worker.registerFunction("note::take", (input) => void notices.push(input));
  withdrawn = new Promise((left) => {
    running = new Promise((entered) => {
      worker.registerFunction("slow::never", (_, { signal }) => {
        entered();
        return new Promise((settle) => {
          signal.addEventListener("abort", () => {
            left();
            settle(null);
          });
        });
      });
    });
  });
  await worker.call({ function_id: "echo::back" });
}, 60_000);

afterAll(() => system.stop());

describe("what a function gets", () => {
  it.each([
    [
      "numbers and texts by key=value",
      ["a=2", "name=Ada", 'zip="01234"', "list=[1,2]", "odd=01", "empty=", "url=x?a=b"],
      `{"a":2,"name":"Ada","zip":"01234","list":[1,2],"odd":"01","empty":"","url":"x?a=b"}`,
    ],
    ["JSON by --payload", ["--payload=[1, 2]"], "[1,2]"],
    ["nothing but {} by default", [], "{}"],
  ])("%s", async (_case, words, result) => {
    expect(await system.svc(["trigger", "echo::back", ...words])).toEqual({ status: EXIT.done, out: `${result}\n`, notes: "" });
  });

  it.each([["-"], ["--payload=-"], ["--payload=@-"], ["--payload-file=-"]])("standard input, asked for by %s", async (word) => {
    expect(await system.svc(["trigger", "echo::back", word], { stdin: '{"n": 1.5}\n' })).toMatchObject({ status: EXIT.done, out: '{"n":1.5}\n' });
  });

  it("a file, by --payload-file or @", async () => {
    writeFileSync(join(system.project.dir, "order.json"), '{"order": 7}');
    for (const word of ["--payload=@order.json", "--payload-file=order.json"]) {
      expect(await system.svc(["trigger", "echo::back", word])).toMatchObject({ status: EXIT.done, out: '{"order":7}\n' });
    }
  });

  it("remarks beside the payload", async () => {
    expect(await system.svc(["trigger", "echo::metadata", '--metadata={"why":"a test"}'])).toMatchObject({ out: '{"why":"a test"}\n' });
  });

  it("is told by its file where it is not JSON, or not there", async () => {
    writeFileSync(join(system.project.dir, "bad.json"), "{a");
    expect(await system.svc(["trigger", "echo::back", "--payload-file=bad.json"])).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("in bad.json is not JSON"),
    });
    expect(await system.svc(["trigger", "echo::back", "--payload=@none.json"])).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("there is no such file"),
    });
  });
});

describe("a mistyped name", () => {
  it("of a function is answered with the nearest one", async () => {
    const { status, out, notes } = await system.svc(["trigger", "math::ad"]);
    expect([status, out]).toEqual([EXIT.failed, ""]);
    expect(JSON.parse(notes)).toEqual({ code: "function_not_found", message: "Function math::ad not found", hint: "did you mean math::add?" });
  });

  it("of a queue is answered with the nearest one", async () => {
    const { notes } = await system.svc(["trigger", "note::take", "--enqueue=defualt"]);
    expect(JSON.parse(notes)).toMatchObject({ code: "queue_not_found", hint: "did you mean default?" });
    const unlike = await system.svc(["trigger", "math::add", "--enqueue", "zzzzzzzzzzzz"]);
    expect(JSON.parse(unlike.notes)).toMatchObject({ hint: expect.stringMatching(/^queues: .*\bdefault\b/) });
  });

  it("of a module that is not there names the command that adds it", async () => {
    const { status, notes } = await system.svc(["trigger", "state::get"]);
    expect(status).toBe(EXIT.failed);
    expect(JSON.parse(notes)).toMatchObject({ code: "function_not_found", hint: expect.stringContaining("svc worker add svc-state") });
  });
});

it("cancels the call at Ctrl-C, and ends with 1", { timeout: 30_000 }, async () => {
  const { shell, ended } = system.started(["trigger", "slow::never"]);
  await running;
  shell.stop("SIGINT");
  expect(await ended).toBe(EXIT.failed);
  expect(JSON.parse(shell.written.notes)).toMatchObject({ code: "call_cancelled" });
  await withdrawn;
});

it("shows on a terminal that a call takes long, for how long, and how to cancel it", { timeout: 30_000 }, async () => {
  const { shell, ended } = system.started(["trigger", "slow::never", "--timeout-ms=20000"], { noteColumns: 80 });
  await shell.noted("Calling slow::never; Ctrl-C cancels.");
  shell.stop("SIGINT");
  expect(await ended).toBe(EXIT.failed);
  expect(shell.written.out).toBe("");
});

it("--void prints nothing and does not wait", async () => {
  expect(await system.svc(["trigger", "note::take", "n=1", "--void"])).toEqual({ status: EXIT.done, out: "", notes: "" });
  await expect.poll(() => notices, { timeout: 20_000 }).toContainEqual({ n: 1 });
});

it("--enqueue prints the id of a job, which runs", async () => {
  const { status, out, notes } = await system.svc(["trigger", "note::take", "n=2", "--enqueue", "default"]);
  expect([status, notes]).toEqual([EXIT.done, ""]);
  expect(out).toMatch(/^[0-9a-f-]{36}\n$/);
  await expect.poll(() => notices, { timeout: 20_000 }).toContainEqual({ n: 2 });
});

describe("--trace", () => {
  it("draws the calls below the call on standard error, and leaves the result alone", async () => {
    const { status, out, notes } = await system.svc(["trigger", "math::double", "a=4", "--trace"]);
    expect([status, out]).toEqual([EXIT.done, '{"c":8}\n']);
    expect(notes).toMatch(/^\ntrace [0-9a-f]{32} {2}[\d.]+ m?s {2}2 spans\n/);
    expect(notes).toMatch(/^math::double .*math-worker.* ms\n└─ math::add .*math-worker.* ms$/m);
  });

  it("marks what failed, with why", async () => {
    const { status, notes } = await system.svc(["trigger", "math::broken", "--trace"]);
    expect(status).toBe(EXIT.failed);
    expect(JSON.parse(notes.split("\n")[0] ?? "")).toMatchObject({ message: "out of numbers" });
    expect(notes).toContain("1 error");
    expect(notes).toMatch(/✗ math::broken .*\n.*out of numbers/);
  });
});
