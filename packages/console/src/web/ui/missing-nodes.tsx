/** Says which engines of the cluster did not answer. `text` returns the sentence; its argument is their names. */
export function MissingNodes({
  names,
  text,
}: {
  readonly names: readonly string[] | undefined;
  readonly text: (count: number, names: string) => string;
}) {
  if (names === undefined || names.length === 0) return null;
  return (
    <p role="status" className="border-line border-b bg-warn-soft px-4 py-1 text-warn">
      {text(names.length, names.join(", "))}
    </p>
  );
}
