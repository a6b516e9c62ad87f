import { expect, it } from "vitest";
import { beside, StepFailure } from "./steps.mjs";

const { signal } = new AbortController();

/** An action that a test lets go on. */
function held(context, result) {
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });
  return {
    release,
    action: async (given) => {
      context.push(given);
      await released;
      return result;
    },
  };
}

function listener() {
  const heard = [];
  return { heard, note: (line) => heard.push(`note ${line}`), outcome: (text) => heard.push(`outcome ${text}`) };
}

it("begins actions at once, one after another, and tells their steps what was noted and what came of them", async () => {
  const contexts = [];
  const [first, second] = [held(contexts, "one"), held(contexts, "two")];
  const { awaited } = beside([first.action, second.action], { signal });
  await expect.poll(() => contexts.length).toBe(1);
  contexts[0].note("before its step");
  const step = listener();
  const result = awaited[0](step);
  contexts[0].note("during its step");
  contexts[0].outcome("done");
  expect(contexts).toHaveLength(1);
  first.release();
  expect(await result).toBe("one");
  expect(step.heard).toEqual(["note before its step", "note during its step", "outcome done"]);
  second.release();
  expect(await awaited[1](listener())).toBe("two");
});

it("tells the step of an action that failed, and begins none after it", async () => {
  const begun = [];
  const { awaited, end } = beside(
    [
      async () => {
        throw new StepFailure("no network");
      },
      async () => begun.push("second"),
    ],
    { signal },
  );
  await expect(awaited[0](listener())).rejects.toThrow("no network");
  await end();
  expect(begun).toEqual([]);
});

it("lets an action that is under way end when it is no longer needed, and begins no other", async () => {
  const contexts = [];
  const [first, second] = [held(contexts), held(contexts)];
  const { end } = beside([first.action, second.action], { signal });
  await expect.poll(() => contexts.length).toBe(1);
  let hasEnded = false;
  const ended = end().then(() => {
    hasEnded = true;
  });
  await Promise.resolve();
  expect(hasEnded).toBe(false);
  first.release();
  await ended;
  expect(contexts).toHaveLength(1);
});
