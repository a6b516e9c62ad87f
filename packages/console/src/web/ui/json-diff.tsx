import { lazy, Suspense } from "react";
import { t } from "../labels/translate.ts";
import type { JsonDiffProps } from "./json-diff-impl.tsx";

const Diff = lazy(() => import("./json-diff-impl.tsx"));

/** Shows the differences between two texts in one column. The code is loaded when it is first used. */
export function JsonDiff(props: JsonDiffProps) {
  return (
    <Suspense fallback={<p className="p-2 text-ink-3">{t`Comparing …`}</p>}>
      <Diff {...props} />
    </Suspense>
  );
}
