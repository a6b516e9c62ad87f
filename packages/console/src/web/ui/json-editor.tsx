import { lazy, Suspense } from "react";
import type { JsonEditorProps } from "./json-editor-impl.tsx";

const Editor = lazy(() => import("./json-editor-impl.tsx"));

/** A JSON editor that marks syntax errors. The code is loaded when it is first used. */
export function JsonEditor(props: JsonEditorProps) {
  return (
    <Suspense
      fallback={
        <textarea
          aria-label={props.label}
          readOnly
          value={props.value}
          className={`w-full rounded-md border border-line-strong/60 bg-surface p-2 font-mono text-[12px] ${props.className ?? ""}`}
        />
      }
    >
      <Editor {...props} />
    </Suspense>
  );
}
