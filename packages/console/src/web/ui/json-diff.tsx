import { lazy, Suspense } from "react";

const Diff = lazy(() => import("./json-diff-impl.tsx"));

export interface JsonDiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly className?: string;
}

/** What is different between two texts, in one column. Loaded when one is shown first. */
export function JsonDiff(props: JsonDiffProps) {
  return (
    <Suspense fallback={<p className="p-2 text-ink-3">Comparing …</p>}>
      <Diff {...props} />
    </Suspense>
  );
}
