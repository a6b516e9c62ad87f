import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ENGINE = fileURLToPath(new URL("../../../..", import.meta.url));

/** A defect that the simulation must find: a change of one compiled file of the engine. */
export interface PlantedFault {
  readonly name: string;
  /** What is wrong. */
  readonly what: string;
  /** File below `dist/` of the engine. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly text: string;
  readonly replacement: string;
}

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: "no-fence",
    what: "An outcome of a job is accepted from a run that does not lease it.",
    file: "modules/queue/store/job-table.js",
    text: " AND lease_run = ?`",
    replacement: " AND ?2 IS NOT NULL`",
  },
  {
    name: "applied-twice",
    what: "An entry that the log has twice is applied twice.",
    file: "store/replicated/replica.js",
    text: "if (n <= stored.n)",
    replacement: "if (n < stored.n)",
  },
  {
    name: "acknowledged-early",
    what: "A job is acknowledged before it is appended.",
    file: "modules/queue/start-queue-core.js",
    text: "const take = this.#takeOfAdded(jobs);",
    replacement: `this.store.call("add", { jobs }, { bytes, mark: { takes: this.#takes } }).catch(() => {});
        return jobs.map(({ id }) => ({ id, duplicate: false }));`,
  },
  {
    name: "jobs-not-returned",
    what: "Jobs of an expelled run are not returned to the queue before an engine starts.",
    file: "modules/queue/start-queue-core.js",
    text: "onRunsGone((runs) => this.#releaseRuns(runs))",
    replacement: "onRunsGone(() => {})",
  },
  {
    name: "expelled-writes",
    what: "Entries of an expelled run are applied.",
    file: "store/replicated/replica.js",
    text: 'if (stored.state !== "member")',
    replacement: "if (false)",
  },
  {
    name: "tick-twice",
    what: "It is not checked whether a tick was started.",
    file: "modules/cron/store/procedures.js",
    text: "(!run.manual && !mayStart(stored, id, scheduledAt))",
    replacement: "false",
  },
  {
    name: "change-delivered-twice",
    what: "A state trigger moves to another engine while the one that delivers its changes is there.",
    file: "items/adapters/file-thread/watchers.js",
    text: "if (!able.some(({ engine }) => engine === claimedBy))",
    replacement: "if (true)",
  },
  {
    name: "change-lost",
    what: "An engine that takes over a state trigger does not read the changes that wait for it.",
    file: "modules/state/triggers/deliveries.js",
    text: "\n    #behind = true;",
    replacement: "\n    #behind = false;",
  },
  {
    name: "stale-read",
    what: "A read does not wait for the log.",
    file: "store/replicated/replicated-store.js",
    text: "!isWrite && mayBeOld && this.#own.isEmpty && this.#end === undefined",
    replacement: "!isWrite && this.#end === undefined",
  },
  {
    name: "begun-call-rerouted",
    what: "A call is sent to another node when its node is gone, although it may have begun.",
    file: "kernel/nodes/outgoing-calls.js",
    text: "const details = { node: this.#peer.name,",
    replacement: `if (!call.isRerouted) {
                this.#ports.router.refused(call, new CallError("draining", "a test"));
                continue;
            }
            const details = { node: this.#peer.name,`,
  },
  {
    name: "gone-call-open",
    what: "Calls at a node that is gone do not fail.",
    file: "kernel/nodes/outgoing-calls.js",
    text: "for (const call of this.#held.all()) {",
    replacement: "for (const call of []) {",
  },
  {
    name: "frame-not-resent",
    what: "A message between nodes that was lost is not sent again.",
    file: "kernel/nodes/frame-sender.js",
    text: "this.#unacknowledged.push(message);",
    replacement: "",
  },
  {
    name: "message-handled-twice",
    what: "A message between nodes that arrives twice is handled twice.",
    file: "kernel/nodes/frame-receiver.js",
    text: "if (n <= this.#lastN)",
    replacement: "if (false)",
  },
  {
    name: "one-vote-expels",
    what: "One vote expels a run.",
    file: "store/replicated/members.js",
    text: "const needed = members === 2 ? 1 : Math.floor(members / 2) + 1;",
    replacement: "const needed = 1;",
  },
  {
    name: "own-time",
    what: "Procedures read a time of their own instead of the log's.",
    file: "store/replicated/replica-time.js",
    text: "return this.#time.now;",
    replacement: "return this.#time.now + Math.floor(Math.random() * 1_000);",
  },
];

/** A copy of the compiled engine with a planted fault. */
export interface PlantedCopy {
  /** Path of the program that runs seeds. */
  readonly main: string;
  remove(): void;
}

/** Copies the compiled engine and plants a fault in the copy. Throws if the fault's text is not in its file once. */
export function plant(name: string): PlantedCopy {
  const fault = PLANTED_FAULTS.find((one) => one.name === name);
  if (fault === undefined) throw new RangeError(`there is no planted fault ${name}`);
  const { file, text, replacement } = fault;
  const code = readFileSync(join(ENGINE, "dist", file), "utf8");
  const occurrences = code.split(text).length - 1;
  if (occurrences !== 1) throw new Error(`${file} has ${occurrences} times, not once: ${text}`);
  // Beside the original, so that the packages that it imports are found.
  const folder = mkdtempSync(join(ENGINE, ".planted-"));
  const isCode = (path: string): boolean => statSync(path).isDirectory() || /(?<!\.test)\.js$/.test(path);
  cpSync(join(ENGINE, "dist"), join(folder, "dist"), { recursive: true, filter: isCode });
  cpSync(join(ENGINE, "package.json"), join(folder, "package.json"));
  writeFileSync(
    join(folder, "dist", file),
    code.replace(text, () => replacement),
  );
  return {
    main: join(folder, "dist/cluster/testing/simulation/main.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
