import type { Job } from "@svc-runtime/protocol/client";
import type { CallRequest } from "../calls/call-request.ts";

/** Maximum length of a progress note, in characters. */
const MAX_NOTE = 256;

/** The queued job that a handler runs. */
export class RunningJob implements Job {
  readonly queue: string;
  readonly id: string;
  readonly attempt: number;
  readonly #send: (request: CallRequest) => void;

  /** Internal: available as a member of a handler's context. */
  constructor({ queue, id, attempt }: Job, send: (request: CallRequest) => void) {
    this.queue = queue;
    this.id = id;
    this.attempt = attempt;
    this.#send = send;
  }

  /**
   * Reports the progress of the job: a number from 0 to 1, and a note for people of at most 256 characters.
   * `queue.getJob`, the console and `svc queue watch` show the last report while the attempt runs. Returns at once. A
   * report that cannot be sent is dropped.
   *
   * @throws TypeError for other values.
   */
  get progress(): (value: number, note?: string) => void {
    // Returns a bound function, so that handlers may destructure the job.
    return (value, note) => {
      if (typeof value !== "number" || !(value >= 0 && value <= 1))
        throw new TypeError(`the progress of a job must be a number from 0 to 1; it is ${String(value)}`);
      if (note !== undefined && (typeof note !== "string" || note.length > MAX_NOTE))
        throw new TypeError(`the note of a job's progress must be a string of at most ${MAX_NOTE} characters`);
      const { queue, id: job_id, attempt } = this;
      this.#send({ function_id: "queue::report_progress", payload: { queue, job_id, attempt, progress: value, note } });
    };
  }
}
