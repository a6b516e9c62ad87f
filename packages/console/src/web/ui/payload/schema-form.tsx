import { useId, useMemo } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { formatJson, type JsonValue, parseJson } from "../../lib/json.ts";
import { Button } from "../button.tsx";
import { Control, FieldRows } from "./form-fields.tsx";
import { type FormModel, isObject, type Path, setAt, unnamedMembers } from "./form-model.ts";

function read(text: string): { readonly value: JsonValue } | { readonly problem: string } {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    return { problem: t`The JSON has an error; fix it in the JSON editor: ${(error as Error).message}` };
  }
}

/**
 * Edits the input as a form for its schema. The form and the JSON editor edit the same text. Parts that the form does
 * not show stay unchanged.
 */
export function SchemaForm({
  model,
  text,
  onChange,
  onJson,
}: {
  readonly model: FormModel;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onJson: () => void;
}) {
  const id = useId();
  const parsed = useMemo(() => read(text), [text]);
  const problem = !model.ok
    ? model.reason
    : "problem" in parsed
      ? parsed.problem
      : isObject(parsed.value)
        ? undefined
        : t`The input is not an object; the form supports only objects.`;
  if (!model.ok || !("value" in parsed) || problem !== undefined) {
    return (
      <div className="flex flex-wrap items-center gap-3 rounded-md bg-raised p-3 text-ink-2">
        <span className="min-w-0 flex-1">{problem}</span>
        <Button onClick={onJson}>{t`Edit as JSON`}</Button>
      </div>
    );
  }
  const change = (path: Path, next: JsonValue | undefined): void =>
    onChange(formatJson(setAt(parsed.value, path, next)));
  const unnamed = model.choice === undefined ? unnamedMembers(parsed.value, model.fields) : [];
  return (
    <div className="flex flex-col gap-3 rounded-md border border-line p-3">
      {model.choice !== undefined && (
        <Control
          id={id}
          field={model.choice}
          present={parsed.value}
          {...{ value: parsed.value, path: [], onChange: change, onJson }}
        />
      )}
      <FieldRows fields={model.fields} value={parsed.value} path={[]} onChange={change} onJson={onJson} />
      {unnamed.length > 0 && (
        <p className="text-ink-2">
          {unnamed.length === 1
            ? rich`Also sent, although the schema does not define it: ${<code>{unnamed.join(", ")}</code>}`
            : rich`Also sent, although the schema does not define them: ${<code>{unnamed.join(", ")}</code>}`}
        </p>
      )}
      {model.notes.map((note) => (
        <p key={note} className="text-ink-2">
          {note}
        </p>
      ))}
    </div>
  );
}
