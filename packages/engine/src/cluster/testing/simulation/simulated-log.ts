import type { LogConnection, LogFaults, MemoryLog } from "../memory-log.ts";
import type { Scheduler, SimulatedProcess } from "./scheduler.ts";

/** Probabilities of the faults of a connection to a log. */
export interface LogFaultRates {
  /** The entry never arrives, or its acknowledgement is lost. */
  dropped: number;
  /** An entry is delivered twice to a reader, or stored twice by a log that no longer knows its id. */
  repeated: number;
}

/** Time after which an append without an answer fails, in milliseconds. */
const APPEND_TIMEOUT_MS = 2_000;

/** Connects a process to a log, over a network with delays and faults. */
export function connectToLog(
  log: MemoryLog,
  { scheduler, process, rates }: { scheduler: Scheduler; process: SimulatedProcess; rates: LogFaultRates },
): LogConnection {
  const { random } = scheduler;
  const dropped = new Set<string>();
  const faults: LogFaults = {
    onAppend(id) {
      if (!random.chance(rates.dropped)) return "none";
      dropped.add(id);
      return random.chance(0.5) ? "rejectedUnstored" : "ackLost";
    },
    // Once sent, an entry arrives even if its sender is dead by then.
    beforeStored: (id) => scheduler.hop(undefined, `log stores ${id}`),
    beforeAck: (id) =>
      dropped.delete(id)
        ? new Promise((resolve) => void scheduler.after(APPEND_TIMEOUT_MS, process, "append timed out", resolve))
        : scheduler.hop(process, `log acknowledges ${id}`),
    beforeAnswer: () => scheduler.hop(process, "log answers"),
    deliveries: () => (random.chance(rates.repeated) ? 2 : 1),
    deliver: (action) => void scheduler.after(scheduler.latency(3), process, "log delivers", action),
  };
  const connection = log.connect(faults);
  const append = connection.append.bind(connection);
  connection.append = async (id, bytes) => {
    const position = await append(id, bytes);
    if (random.chance(rates.repeated / 3)) {
      log.forgetIds();
      void scheduler.after(scheduler.latency(5), undefined, `log stores ${id} again`, () => log.store(id, bytes));
    }
    return position;
  };
  return connection;
}
