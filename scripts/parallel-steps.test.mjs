import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { commandStep, runParallel, stepTable } from "./parallel-steps.mjs";
import { root, StepFailure } from "./steps.mjs";

const { signal } = new AbortController();

function printed() {
  const texts = [];
  return { write: (text) => texts.push(text), text: () => texts.join("") };
}

/** A step that ends when the test releases it. */
function heldStep(title, { needs, log }) {
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });
  const run = async () => {
    log.push(title);
    await released;
  };
  return { release, step: { title, needs, run } };
}

const passing = (title, needs) => ({ title, needs, run: async ({ write }) => write(`output of ${title}`) });
const failing = (title, needs) => ({
  title,
  needs,
  run: async ({ write }) => {
    write(`output of ${title}\n`);
    throw new StepFailure(`${title} is broken`, { fix: "fix it." });
  },
});

describe("runParallel", () => {
  it("runs at most `limit` steps at a time, in order", async () => {
    const log = [];
    const [first, second, third] = ["first", "second", "third"].map((title) => heldStep(title, { log }));
    const done = runParallel([first.step, second.step, third.step], { limit: 2, signal, stream: printed() });
    await expect.poll(() => log).toEqual(["first", "second"]);
    second.release();
    await expect.poll(() => log).toEqual(["first", "second", "third"]);
    first.release();
    third.release();
    expect(await done).toMatchObject([{ title: "first", state: "passed" }, { title: "second" }, { title: "third" }]);
  });

  it("starts a step when those that it needs have passed, and a later step meanwhile", async () => {
    const log = [];
    const install = heldStep("install", { log });
    const types = heldStep("types", { log, needs: ["install"] });
    const lint = heldStep("lint", { log });
    const done = runParallel([install.step, types.step, lint.step], { limit: 2, signal, stream: printed() });
    await expect.poll(() => log).toEqual(["install", "lint"]);
    install.release();
    await expect.poll(() => log).toEqual(["install", "lint", "types"]);
    types.release();
    lint.release();
    await done;
  });

  it("runs the other steps after a failure, and skips those that need the failed one", async () => {
    const steps = [
      failing("types"),
      passing("generated files", ["types"]),
      passing("its report", ["generated files"]),
      failing("lint"),
      passing("locks"),
    ];
    const results = await runParallel(steps, { limit: 2, signal, stream: printed() });
    expect(results.map(({ title, state, reason }) => [title, state, reason])).toEqual([
      ["types", "failed", undefined],
      ["generated files", "skipped", "needs types"],
      ["its report", "skipped", "needs generated files"],
      ["lint", "failed", undefined],
      ["locks", "passed", undefined],
    ]);
  });

  it("prints the output of a step in one piece when it ends, with the reason of a failure", async () => {
    const log = [];
    const slow = heldStep("slow", { log });
    const stream = printed();
    const run = async (context) => {
      context.write("begin of slow\n");
      await slow.step.run();
      context.write("end of slow");
    };
    const done = runParallel([{ title: "slow", run }, failing("quick")], { limit: 2, signal, stream });
    await expect.poll(() => stream.text()).toMatch(/FAILED quick/);
    expect(stream.text()).not.toContain("begin of slow");
    slow.release();
    await done;
    const text = stream.text().replaceAll(/\d+\.\d s/g, "0.0 s");
    expect(text).toContain("output of quick\nquick is broken\nHow to fix it: fix it.\nFAILED quick, 0.0 s\n");
    expect(text).toContain("begin of slow\nend of slow\nok slow, 0.0 s\n");
  });

  it("starts nothing more on abort, and rejects when the running steps have ended", async () => {
    const controller = new AbortController();
    const log = [];
    const first = heldStep("first", { log });
    const done = runParallel([first.step, passing("second")], {
      limit: 1,
      signal: controller.signal,
      stream: printed(),
    });
    done.catch(() => undefined);
    await expect.poll(() => log).toEqual(["first"]);
    controller.abort(new Error("stopped by SIGINT"));
    first.release();
    await expect(done).rejects.toThrow("stopped by SIGINT");
  });
});

describe("commandStep", () => {
  const run = async (source, options = {}) => {
    const output = [];
    const step = commandStep(process.execPath, ["-e", source], { cwd: root, ...options });
    const error = await step({ write: (text) => output.push(text), signal }).catch((reason) => reason);
    return { output: output.join(""), error };
  };

  it("passes when the command ends with status 0, and keeps both outputs", async () => {
    const { output, error } = await run("console.log('one\\n\\ntwo'); console.error('three')");
    expect(error).toBeUndefined();
    expect(output).toContain("one\n\ntwo\n");
    expect(output).toContain("three\n");
  });

  it("fails with the status of the command, or its signal", async () => {
    expect((await run("process.exit(3)")).error.message).toMatch(/ended with status 3$/);
    expect((await run("process.kill(process.pid, 'SIGKILL')")).error.message).toMatch(/ended with status SIGKILL$/);
  });

  it("fails when the command cannot be started", async () => {
    const step = commandStep("/does/not/exist", [], { cwd: root });
    await expect(step({ write: () => undefined, signal })).rejects.toThrow("`exist` could not be started");
  });

  it("stops a command that takes too long", async () => {
    expect((await run("setInterval(() => {}, 1000)", { timeoutMs: 300 })).error.message).toMatch(
      /timed out after 0\.3 s$/,
    );
  });

  it("stops it after a garbage collection, too", async () => {
    const program = `
      import { commandStep } from ${JSON.stringify(new URL("./parallel-steps.mjs", import.meta.url).href)};
      setInterval(gc, 20).unref();
      const step = commandStep(process.execPath, ["-e", "setTimeout(() => {}, 5000)"], { cwd: ".", timeoutMs: 300 });
      await step({ write() {}, signal: new AbortController().signal }).catch(({ message }) => console.log(message));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--expose-gc",
      "--input-type=module",
      "--eval",
      program,
    ]);
    expect(stdout).toMatch(/timed out after 0\.3 s\n$/);
  });
});

it("lists the duration of each step and the reason of skipped ones", () => {
  const table = stepTable([
    { title: "types", state: "failed", ms: 12_340 },
    { title: "lint and format", state: "passed", ms: 900 },
    { title: "generated files", state: "skipped", ms: 0, reason: "needs types" },
  ]);
  expect(table).toEqual([
    "  types              12.3 s  FAILED",
    "  lint and format     0.9 s  ok",
    "  generated files         -  skipped: needs types",
  ]);
});
