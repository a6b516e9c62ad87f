import { expect, it } from "vitest";
import { recordedShell } from "./shell.test-support.ts";
import { listenForStop, SAME_PRESS_MS } from "./stop-requests.ts";

it("takes a signal that npm repeats within a moment as one key press", async () => {
  const shell = recordedShell();
  let nowMs = 0;
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => nowMs });
  const heard: string[] = [];
  void stop.second.then((signal) => heard.push(signal));

  shell.stop("SIGINT");
  nowMs = SAME_PRESS_MS;
  shell.stop("SIGINT");

  expect(await stop.first).toBe("SIGINT");
  expect(heard).toEqual([]);
});

it("takes a later signal as a request to stop at once", async () => {
  const shell = recordedShell();
  let nowMs = 0;
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => nowMs });

  shell.stop("SIGINT");
  nowMs = SAME_PRESS_MS + 1;
  shell.stop("SIGTERM");

  expect(await stop.second).toBe("SIGTERM");
});

it("lets go of the signals when told to", () => {
  const shell = recordedShell();
  listenForStop(shell, { stdin: "ignored", nowMs: () => 0 }).forget();

  expect(shell.listeners()).toBe(0);
});
