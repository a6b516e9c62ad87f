/** An alert that began or ceased to fire. */
export interface AlertEvent {
  readonly name: string;
  readonly state: "firing" | "resolved";
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/**
 * Says which events are read. Events up to `upToMs` are read, and later ones are unread, except the events in `others`:
 * for these it is the opposite.
 */
export interface ReadMarks {
  readonly upToMs: number;
  /** Ids of unread events up to `upToMs`, and of read events after it. */
  readonly others: readonly string[];
}

/** Maximum number of ids in `others`. The engine lists fewer events. */
const MAX_OTHERS = 200;

export const NOTHING_READ: ReadMarks = { upToMs: 0, others: [] };

export function idOfEvent({ name, state, timestamp }: AlertEvent): string {
  return `${timestamp} ${state} ${name}`;
}

export function isRead({ upToMs, others }: ReadMarks, event: AlertEvent): boolean {
  return event.timestamp <= upToMs !== others.includes(idOfEvent(event));
}

/** Marks one event as read, or as unread. */
export function toggleRead(marks: ReadMarks, event: AlertEvent): ReadMarks {
  const id = idOfEvent(event);
  const others = marks.others.includes(id) ? marks.others.filter((other) => other !== id) : [...marks.others, id];
  return { ...marks, others: others.slice(-MAX_OTHERS) };
}

/** Marks all events as read. */
export function readAll(events: readonly AlertEvent[]): ReadMarks {
  return { upToMs: Math.max(0, ...events.map(({ timestamp }) => timestamp)), others: [] };
}

/** Parses stored marks. Returns `NOTHING_READ` if there are none or they are invalid. */
export function parseMarks(stored: string | null): ReadMarks {
  try {
    const { upToMs, others } = JSON.parse(stored ?? "") as Partial<ReadMarks>;
    if (typeof upToMs !== "number" || !Array.isArray(others)) return NOTHING_READ;
    return { upToMs, others: others.filter((id) => typeof id === "string") };
  } catch {
    return NOTHING_READ;
  }
}
