// Runs in the store thread: nothing here imports more of the engine than the store and how items keep texts.
import type { Database } from "../../../store/driver.ts";
import type { Gathering } from "../../../store/procedures.ts";
import { openAddJob, openAddProcedures } from "./adding.ts";
import { openEndProcedures } from "./ending.ts";
import { JobTable } from "./job-table.ts";
import { openLookingProcedures } from "./looking.ts";
import { openManagingProcedures } from "./managing.ts";
import type { JobProcedures } from "./queue-store.ts";
import { QueueTable } from "./queue-table.ts";
import { openTakeProcedures } from "./taking.ts";
import { openTopicProcedures } from "./topic-procedures.ts";

export { schema } from "./schema.ts";

export function openProcedures(database: Database, gather: (gathering: Gathering) => void): JobProcedures {
  const queues = new QueueTable(database);
  gather(queues);
  const jobs = new JobTable(database, queues);
  const addJob = openAddJob(database, jobs);
  return {
    ...openAddProcedures(addJob),
    ...openTakeProcedures(database, jobs),
    ...openEndProcedures(database, jobs),
    ...openManagingProcedures(database, jobs),
    ...openLookingProcedures(database, jobs),
    ...openTopicProcedures(database, addJob),
  };
}
