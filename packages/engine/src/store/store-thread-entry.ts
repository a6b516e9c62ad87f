import { parentPort, workerData } from "node:worker_threads";
import { DatabaseRefused } from "./integrity-check.ts";
import { LogSync } from "./log-sync.ts";
import type { BatchTime } from "./log-time.ts";
import type { ProceduresModule } from "./procedures.ts";
import { Session } from "./session.ts";
import type { FromThread, ThreadStart, ToThread } from "./thread-messages.ts";
import { lowerThreadPriority } from "./thread-priority.ts";

/** Interval between write attempts of a store that cannot write, in milliseconds. */
const PROBE_MS = 500;
/** Interval between checks that the files are still in place, in milliseconds. */
const PLACE_CHECK_MS = 1_000;

const port = parentPort;
if (port === null)
  throw new Error("store-thread-entry.ts is the entry of a worker thread; use openStore of open-store.ts");
const start = workerData as ThreadStart;
if (start.isBackground) lowerThreadPriority();

let session: Session | undefined;
let reportedProblem: string | undefined;
let probe: NodeJS.Timeout | undefined;
let logSync: LogSync | undefined;

function post(message: FromThread): void {
  port?.postMessage(message);
}

function reportHealth(current: Session): void {
  if (current.problem !== reportedProblem) post({ kind: "health", problem: current.problem });
  reportedProblem = current.problem;
  if (current.problem === undefined) {
    clearInterval(probe);
    probe = undefined;
  } else {
    probe ??= setInterval(() => {
      current.probe();
      if (current.isRenewed) return end();
      reportHealth(current);
    }, PROBE_MS).unref();
  }
}

/** Ends the thread, which closes all its connections to the old file. */
function end(): void {
  post({ kind: "renewed" });
  process.exit();
}

/** Closes the file. This also syncs the rest of its log. */
async function close(current: Session, time: BatchTime): Promise<void> {
  clearInterval(probe);
  await logSync?.stop();
  let problem: string | undefined;
  try {
    current.close(time);
  } catch (thrown) {
    problem = thrown instanceof Error ? thrown.message : String(thrown);
  }
  post({ kind: "closed", problem });
  port?.close();
}

const procedures = (await import(start.procedures)) as ProceduresModule;
try {
  session = new Session(start.file, procedures, start.driver, start.durability);
} catch (thrown) {
  if (!(thrown instanceof DatabaseRefused)) throw thrown;
  post({ kind: "refused", message: thrown.message });
  port.close();
}
if (session !== undefined) {
  const current = session;
  if (start.durability === "relaxed") {
    logSync = new LogSync(start.file, (reason) => {
      current.noteUnsynced(reason);
      reportHealth(current);
    });
  }
  port.on("message", (message: ToThread) => {
    if (message.kind === "close") return void close(current, message.time);
    const answers = current.run(message.requests, message.time);
    logSync?.note();
    // Report health before the answers, so that `problem()` is set when a caller receives a failure.
    reportHealth(current);
    post({ kind: "answers", answers });
  });
  setInterval(() => {
    current.checkPlace();
    reportHealth(current);
  }, PLACE_CHECK_MS).unref();
  // If a sync failed before the last stop, renew the file now, because the modules write as soon as they start.
  if (current.problem !== undefined) current.probe();
  if (current.isRenewed) end();
  post({
    kind: "open",
    wasUnclean: current.wasUnclean,
    damage: current.damage,
    writes: current.writes,
    time: current.storedTime,
  });
  reportHealth(current);
}
