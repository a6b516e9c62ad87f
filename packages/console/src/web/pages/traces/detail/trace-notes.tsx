import { plural, t } from "../../../labels/translate.ts";
import type { TraceForest } from "../../../model/span-forest.ts";

/** Warnings about properties of the trace that could mislead the user. */
export function TraceNotes({
  forest,
  loaded,
  total,
  missing,
}: {
  readonly forest: TraceForest;
  readonly loaded: number;
  readonly total: number;
  /** Engines of the cluster that did not answer. */
  readonly missing: readonly string[];
}) {
  const notes = [
    ...(missing.length > 0
      ? [
          plural(
            missing.length,
            "{0} did not answer: its spans are missing.",
            "{0} did not answer: their spans are missing.",
            missing.join(", "),
          ),
        ]
      : []),
    ...(loaded < total ? [t`${loaded} of ${total} spans loaded.`] : []),
    ...(forest.orphanCount > 0
      ? [t`${forest.orphanCount} spans reference a parent that has not arrived; they are shown under “missing parent”.`]
      : []),
    ...(forest.hasCycle
      ? [t`Spans reference each other as parents in a cycle; it is broken at its earliest span.`]
      : []),
    ...(forest.skewedCount > 0
      ? [
          t`${forest.skewedCount} spans start before their parent in another service: the services' clocks differ. Times are shown as received.`,
        ]
      : []),
  ];
  if (notes.length === 0) return null;
  return (
    <ul role="status" className="border-line border-b bg-warn-soft px-4 py-1 text-[12px] text-warn">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
