// Runs in the store thread, so it imports nothing of the engine except the store and the text encoding of items.
import type { Database } from "../../../store/driver.ts";
import type { StoreRuns, StoreTime, WriteBuffer } from "../../../store/procedures.ts";
import { openAddJob, openAddProcedures } from "./add-job.ts";
import { openCompleteProcedures } from "./complete-job.ts";
import { DoneJobs } from "./done-jobs.ts";
import { openQueryProcedures } from "./job-queries.ts";
import { JobTable } from "./job-table.ts";
import { openManageProcedures } from "./manage-jobs.ts";
import type { JobProcedures } from "./queue-store.ts";
import { QueueTable } from "./queue-table.ts";
import { openTakeProcedures } from "./take-jobs.ts";
import { openTopicProcedures } from "./topic-procedures.ts";

export { schema } from "./schema.ts";

export function openProcedures(
  database: Database,
  gather: (gathering: WriteBuffer) => void,
  time: StoreTime,
  runs: StoreRuns,
): JobProcedures {
  const queues = new QueueTable(database);
  const jobs = new JobTable(database, queues);
  const done = new DoneJobs(database, jobs, time);
  gather({
    flush() {
      // First, because this changes counts that `queues` writes.
      done.flush();
      queues.flush();
    },
    discard() {
      done.discard();
      queues.discard();
    },
  });
  const addJob = openAddJob(database, jobs, time);
  const manage = openManageProcedures(database, jobs, time);
  return {
    ...openAddProcedures(addJob),
    ...openTakeProcedures(database, jobs, time, addJob),
    ...openCompleteProcedures(database, jobs, { time, runs }),
    ...done.procedures(),
    ...manage,
    ...openQueryProcedures(database, jobs, time),
    ...openTopicProcedures(database, { addJob, purge: manage.purge.run, time, runs }),
  };
}
