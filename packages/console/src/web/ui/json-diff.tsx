import { lazy, Suspense } from "react";

const Diff = lazy(() => import("./json-diff-impl.tsx"));

export interface JsonDiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly className?: string;
}

/** Shows the differences between two texts in one column. Loaded on first use. */
export function JsonDiff(props: JsonDiffProps) {
  return (
    <Suspense fallback={<p className="p-2 text-ink-3">Comparing …</p>}>
      <Diff {...props} />
    </Suspense>
  );
}
