import { expect, it } from "vitest";
import { StepFailure, startInBackground } from "./steps.mjs";

const { signal } = new AbortController();

/** An action that ends when a test releases it. */
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

it("starts actions at once, one after another, and passes their notes and results to their steps", async () => {
  const contexts = [];
  const [first, second] = [held(contexts, "one"), held(contexts, "two")];
  const { awaited } = startInBackground([first.action, second.action], { signal });
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

it("fails the step of a failed action, and starts none after it", async () => {
  const begun = [];
  const { awaited, end } = startInBackground(
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

it("waits for a running action that is no longer needed, and starts no other", async () => {
  const contexts = [];
  const [first, second] = [held(contexts), held(contexts)];
  const { end } = startInBackground([first.action, second.action], { signal });
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
