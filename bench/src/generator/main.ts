// The load generator's process. Receives one task at a time from its parent process and replies with the results.
import { runCalls } from "./calls.ts";
import { runEcho } from "./echo.ts";
import { runEventFanOut } from "./event-fan-out.ts";
import { runFanOut } from "./fan-out.ts";
import { runHttp } from "./http.ts";
import { closeIdle, openIdle } from "./idle.ts";
import { runJobs } from "./jobs.ts";
import type { GeneratorTask, TaskReply, TaskRequest, Window } from "./load.ts";
import { runRelay } from "./relay.ts";
import { runStream } from "./stream.ts";

async function run(task: GeneratorTask): Promise<Window | undefined> {
  switch (task.kind) {
    case "calls":
      return runCalls(task);
    case "echo":
      return runEcho(task);
    case "relay":
      return runRelay(task);
    case "http":
      return runHttp(task);
    case "fan-out":
      return runFanOut(task);
    case "event-fan-out":
      return runEventFanOut(task);
    case "stream":
      return runStream(task);
    case "jobs":
      return runJobs(task);
    case "open-idle":
      await openIdle(task);
      return undefined;
    case "close-idle":
      closeIdle();
      return undefined;
  }
}

function reply(message: TaskReply): void {
  process.send?.(message);
}

process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });
process.on("message", ({ id, task }: TaskRequest) => {
  run(task).then(
    (window) => reply({ id, window }),
    (error: Error) => reply({ id, error: error.message }),
  );
});
