import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;
/** Resolve when `slow::never` starts and when it is cancelled. */
let running: Promise<void>;
let cancelled: Promise<void>;
const notices: unknown[] = [];

beforeAll(async () => {
  system = await testSystem("workers:\n  - name: svc-queue\n");
  const { worker } = system;
  worker.registerFunction("echo::back", (input) => input);
  worker.registerFunction("echo::order", (input) => input, {
    requestFormat: {
      type: "object",
      properties: { id: { type: "string" }, count: { type: "integer" }, note: { type: ["string", "null"] } },
    },
  });
  worker.registerFunction("echo::metadata", (_, { metadata }) => metadata);
  worker.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => ({ c: a + b }));
  worker.registerFunction("math::double", async ({ a }: { a: number }, context) =>
    context.call({ function_id: "math::add", payload: { a, b: a } }),
  );
  worker.registerFunction("math::broken", () => {
    throw new Error("out of numbers");
  });
  worker.registerFunction("note::take", (input) => void notices.push(input));
  cancelled = new Promise((left) => {
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

describe("the payload of a call", () => {
  it("has a string where the request format of the function says so", async () => {
    const words = ["id=1", "count=1", "note=null", "other=1"];
    expect(await system.svc(["trigger", "echo::order", ...words])).toMatchObject({
      status: EXIT.done,
      out: '{"id":"1","count":1,"note":null,"other":1}\n',
    });
  });

  it.each([
    [
      "numbers and strings by key=value",
      ["a=2", "name=Ada", 'zip="01234"', "list=[1,2]", "odd=01", "empty=", "url=x?a=b"],
      `{"a":2,"name":"Ada","zip":"01234","list":[1,2],"odd":"01","empty":"","url":"x?a=b"}`,
    ],
    ["JSON by --payload", ["--payload=[1, 2]"], "[1,2]"],
    ["{} by default", [], "{}"],
  ])("%s", async (_case, words, result) => {
    expect(await system.svc(["trigger", "echo::back", ...words])).toEqual({
      status: EXIT.done,
      out: `${result}\n`,
      notes: "",
    });
  });

  it.each([["-"], ["--payload=-"], ["--payload=@-"], ["--payload-file=-"]])(
    "is read from standard input with %s",
    async (word) => {
      expect(await system.svc(["trigger", "echo::back", word], { stdin: '{"n": 1.5}\n' })).toMatchObject({
        status: EXIT.done,
        out: '{"n":1.5}\n',
      });
    },
  );

  it("is read from a file with --payload-file or @", async () => {
    writeFileSync(join(system.project.dir, "order.json"), '{"order": 7}');
    for (const word of ["--payload=@order.json", "--payload-file=order.json"]) {
      expect(await system.svc(["trigger", "echo::back", word])).toMatchObject({
        status: EXIT.done,
        out: '{"order":7}\n',
      });
    }
  });

  it("is accompanied by metadata", async () => {
    expect(await system.svc(["trigger", "echo::metadata", '--metadata={"why":"a test"}'])).toMatchObject({
      out: '{"why":"a test"}\n',
    });
  });

  it("is reported with its file if it is missing or not JSON", async () => {
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
  it("of a function gets the nearest one as a hint", async () => {
    const { status, out, notes } = await system.svc(["trigger", "math::ad"]);
    expect([status, out]).toEqual([EXIT.failed, ""]);
    expect(JSON.parse(notes)).toEqual({
      code: "function_not_found",
      message: "Function math::ad not found",
      hint: "did you mean math::add?",
    });
  });

  it("of a queue gets the nearest one as a hint", async () => {
    const { notes } = await system.svc(["trigger", "note::take", "--enqueue=defualt"]);
    expect(JSON.parse(notes)).toMatchObject({ code: "queue_not_found", hint: "did you mean default?" });
    const unlike = await system.svc(["trigger", "math::add", "--enqueue", "zzzzzzzzzzzz"]);
    expect(JSON.parse(unlike.notes)).toMatchObject({ hint: expect.stringMatching(/^queues: .*\bdefault\b/) });
  });

  it("of a missing module's function gets the command that adds the module", async () => {
    const { status, notes } = await system.svc(["trigger", "state::get"]);
    expect(status).toBe(EXIT.failed);
    expect(JSON.parse(notes)).toMatchObject({
      code: "function_not_found",
      hint: expect.stringContaining("svc worker add svc-state"),
    });
  });
});

it("cancels the call at Ctrl-C and exits with 1", async () => {
  const { shell, ended } = system.started(["trigger", "slow::never"]);
  await running;
  shell.stop("SIGINT");
  expect(await ended).toBe(EXIT.failed);
  expect(JSON.parse(shell.written.notes)).toMatchObject({ code: "call_cancelled" });
  await cancelled;
});

it("shows the elapsed time of a long call on a terminal and how to cancel it", async () => {
  const { shell, ended } = system.started(["trigger", "slow::never", "--timeout-ms=20000"], { noteColumns: 80 });
  await shell.noted("Calling slow::never; Ctrl-C cancels.");
  shell.stop("SIGINT");
  expect(await ended).toBe(EXIT.failed);
  expect(shell.written.out).toBe("");
});

it("--void prints nothing and does not wait", async () => {
  expect(await system.svc(["trigger", "note::take", "n=1", "--void"])).toEqual({
    status: EXIT.done,
    out: "",
    notes: "",
  });
  await expect.poll(() => notices).toContainEqual({ n: 1 });
});

it("--enqueue prints the id of a job, which runs", async () => {
  const { status, out, notes } = await system.svc(["trigger", "note::take", "n=2", "--enqueue", "default"]);
  expect([status, notes]).toEqual([EXIT.done, ""]);
  expect(out).toMatch(/^[0-9a-f-]{36}\n$/);
  await expect.poll(() => notices).toContainEqual({ n: 2 });
});

describe("--trace", () => {
  it("draws the call tree on standard error and does not change the result", async () => {
    const { status, out, notes } = await system.svc(["trigger", "math::double", "a=4", "--trace"]);
    expect([status, out]).toEqual([EXIT.done, '{"c":8}\n']);
    expect(notes).toMatch(/^\ntrace [0-9a-f]{32} {2}[\d.]+ m?s {2}2 spans\n/);
    expect(notes).toMatch(/^math::double .*math-worker.* ms\n└─ math::add .*math-worker.* ms$/m);
  });

  it("marks failed calls with their error", async () => {
    const { status, notes } = await system.svc(["trigger", "math::broken", "--trace"]);
    expect(status).toBe(EXIT.failed);
    expect(JSON.parse(notes.split("\n")[0] ?? "")).toMatchObject({ message: "out of numbers" });
    expect(notes).toContain("1 error");
    expect(notes).toMatch(/✗ math::broken .*\n.*out of numbers/);
  });
});
