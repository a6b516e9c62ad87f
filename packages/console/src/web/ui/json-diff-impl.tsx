import { json } from "@codemirror/lang-json";
import { syntaxHighlighting } from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { styleNonce } from "../lib/page-token.ts";
import { cn } from "./cn.ts";
import { editorLabels } from "./editor-labels.ts";
import { colors, theme } from "./json-editor-impl.tsx";

export interface JsonDiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly className?: string;
}

/** Number of unchanged lines that are shown around a change. All other unchanged lines are folded. */
const CONTEXT_LINES = 3;

const marks = EditorView.theme({
  "&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine": { backgroundColor: "var(--ok-soft)" },
  "&.cm-merge-b .cm-changedText": { background: "transparent", fontWeight: "600" },
  ".cm-deletedChunk": { backgroundColor: "var(--danger-soft)" },
  ".cm-deletedChunk .cm-deletedText": { background: "transparent", fontWeight: "600" },
  ".cm-deletedLine del": { textDecoration: "none" },
  ".cm-collapsedLines": { background: "var(--raised)", color: "var(--ink-2)" },
});

export default function JsonDiffImpl({ label, before, after, className }: JsonDiffProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null) return;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: after,
        extensions: [
          EditorView.cspNonce.of(styleNonce),
          editorLabels,
          lineNumbers(),
          json(),
          theme,
          marks,
          syntaxHighlighting(colors),
          EditorView.lineWrapping,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": label }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            gutter: true,
            collapseUnchanged: { margin: CONTEXT_LINES, minSize: CONTEXT_LINES * 2 },
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [label, before, after]);
  return <div ref={place} className={cn("overflow-auto rounded-md border border-line-strong/60", className)} />;
}
