import { t } from "../../labels/translate.ts";
import { JsonEditor } from "../../ui/json-editor.tsx";
import { NEW_TYPES, type NewType, type NewValue } from "./new-value.ts";

const BOX = "rounded-md border border-line-strong/60 bg-surface px-2 font-mono text-[12px]";

/** Two inputs: for the type of a new value, and for the value itself. */
export function ValueFields({
  value,
  onChange,
  onSubmit,
}: {
  readonly value: NewValue;
  readonly onChange: (value: NewValue) => void;
  readonly onSubmit: () => void;
}) {
  const { type, text } = value;
  return (
    <>
      <label className="flex flex-col gap-1">
        {t`Type`}
        <select
          value={type}
          onChange={(event) => onChange({ type: event.target.value as NewType, text: "" })}
          className={`h-8 ${BOX}`}
        >
          {NEW_TYPES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {type === "string" && (
        <label className="flex flex-col gap-1">
          {t`Text`}
          <textarea
            rows={3}
            value={text}
            onChange={(event) => onChange({ type, text: event.target.value })}
            className={`py-1.5 ${BOX}`}
          />
        </label>
      )}
      {type === "number" && (
        <label className="flex flex-col gap-1">
          {t`Number`}
          <input
            inputMode="decimal"
            value={text}
            onChange={(event) => onChange({ type, text: event.target.value })}
            className={`h-8 ${BOX}`}
          />
        </label>
      )}
      {type === "boolean" && (
        <label className="flex flex-col gap-1">
          {t`Value`}
          <select
            value={text === "true" ? "true" : "false"}
            onChange={(event) => onChange({ type, text: event.target.value })}
            className={`h-8 ${BOX}`}
          >
            <option>false</option>
            <option>true</option>
          </select>
        </label>
      )}
      {type === "JSON" && (
        <JsonEditor
          label={t`JSON of the value`}
          value={text}
          onChange={(next) => onChange({ type, text: next })}
          onSubmit={onSubmit}
          className="h-40"
        />
      )}
    </>
  );
}
