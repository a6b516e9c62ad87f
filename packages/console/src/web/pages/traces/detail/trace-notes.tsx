import type { TraceForest } from "../model/span-forest.ts";

/** What is peculiar about the trace and would otherwise mislead. */
export function TraceNotes({ forest, loaded, total }: { readonly forest: TraceForest; readonly loaded: number; readonly total: number }) {
  const notes = [
    ...(loaded < total ? [`${loaded} of ${total} spans are here, the rest is being loaded.`] : []),
    ...(forest.orphanCount > 0 ? [`${forest.orphanCount} spans name a parent that has not come: they stand under “missing parent”.`] : []),
    ...(forest.hadCircle ? ["Spans name each other as parents in a circle; the circle is cut at its earliest span."] : []),
    ...(forest.skewedCount > 0
      ? [
          `${forest.skewedCount} spans begin before the span of another service that called them: the clocks of the services differ. Times are shown as they were sent.`,
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
