import { lazy, Suspense } from "react";

const Editor = lazy(() => import("./json-editor-impl.tsx"));

export interface JsonEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange?: ((text: string) => void) | undefined;
  /** JSON Schema for completion. */
  readonly schema?: unknown;
  /** `mod+Enter`. */
  readonly onSubmit?: (() => void) | undefined;
  readonly onSave?: (() => void) | undefined;
  readonly readOnly?: boolean;
  readonly className?: string;
}

/** A JSON editor that marks syntax errors. Loaded on first use. */
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
