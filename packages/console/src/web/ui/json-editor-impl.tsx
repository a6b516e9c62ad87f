import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import {
  copyLineDown,
  copyLineUp,
  deleteLine,
  history,
  historyKeymap,
  indentLess,
  indentMore,
  indentWithTab,
  moveLineDown,
  moveLineUp,
  selectParentSyntax,
  simplifySelection,
  standardKeymap,
  toggleTabFocusMode,
} from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState } from "@codemirror/state";
import { EditorView, type KeyBinding, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { styleNonce } from "../lib/page-token.ts";
import { cn } from "./cn.ts";
import { editorLabels } from "./editor-labels.ts";
import { schemaCompletion } from "./json-completion.ts";

export interface JsonEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange?: ((text: string) => void) | undefined;
  /** JSON Schema, from which the editor suggests completions. */
  readonly schema?: unknown;
  /** Called on `mod+Enter`. */
  readonly onSubmit?: (() => void) | undefined;
  readonly onSave?: (() => void) | undefined;
  readonly readOnly?: boolean;
  readonly className?: string;
}

export const theme = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "12px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--font-mono)", caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--ink-3)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)" },
});
export const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--violet)" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: tags.number, color: "var(--warn)" },
  { tag: [tags.bool, tags.null], color: "var(--info)" },
]);

/** Marks changes that come from the `value` property. They are not edits of the user. */
const fromProps = Annotation.define<true>();

/** The useful part of CodeMirror's default keymap. It leaves out, for example, keys that comment lines. */
const lineKeymap: readonly KeyBinding[] = [
  { key: "Alt-ArrowUp", run: moveLineUp },
  { key: "Alt-ArrowDown", run: moveLineDown },
  { key: "Shift-Alt-ArrowUp", run: copyLineUp },
  { key: "Shift-Alt-ArrowDown", run: copyLineDown },
  { key: "Escape", run: simplifySelection },
  { key: "Mod-i", run: selectParentSyntax, preventDefault: true },
  { key: "Mod-[", run: indentLess },
  { key: "Mod-]", run: indentMore },
  { key: "Shift-Mod-k", run: deleteLine },
  { key: "Ctrl-m", mac: "Shift-Alt-m", run: toggleTabFocusMode },
];

export default function JsonEditorImpl({
  label,
  value,
  schema,
  onChange,
  onSubmit,
  onSave,
  readOnly = false,
  className,
}: JsonEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef({ onChange, onSubmit, onSave });
  latest.current = { onChange, onSubmit, onSave };
  const first = useRef({ value, schema });
  const completion = useRef(new Compartment());
  useEffect(() => {
    if (place.current === null) return;
    const act = (name: "onSubmit" | "onSave") => (): boolean => {
      latest.current[name]?.();
      return latest.current[name] !== undefined;
    };
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: first.current.value,
        extensions: [
          EditorView.cspNonce.of(styleNonce),
          editorLabels,
          keymap.of([
            { key: "Mod-Enter", run: act("onSubmit") },
            { key: "Mod-s", run: act("onSave"), preventDefault: true },
            ...completionKeymap,
            ...closeBracketsKeymap,
            ...lineKeymap,
            ...standardKeymap,
            ...historyKeymap,
            ...searchKeymap,
            ...foldKeymap,
            ...lintKeymap,
            indentWithTab,
          ]),
          lineNumbers(),
          foldGutter(),
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          json(),
          completion.current.of(autocompletion({ override: [schemaCompletion(first.current.schema)] })),
          linter(jsonParseLinter()),
          lintGutter(),
          theme,
          syntaxHighlighting(colors),
          EditorView.lineWrapping,
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            const isEdit = update.transactions.some(
              (transaction) => transaction.docChanged && transaction.annotation(fromProps) !== true,
            );
            if (isEdit) latest.current.onChange?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, readOnly]);
  useEffect(() => {
    view.current?.dispatch({
      effects: completion.current.reconfigure(autocompletion({ override: [schemaCompletion(schema)] })),
    });
  }, [schema]);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({
      changes: { from: 0, to: editor.state.doc.length, insert: value },
      annotations: fromProps.of(true),
    });
  }, [value]);
  return <div ref={place} className={cn("overflow-auto rounded-md border border-line-strong/60", className)} />;
}
