import { formatJson, type JsonValue } from "../../lib/json.ts";
import { numberFromText, type ScalarField, textOfNumber } from "./form-model.ts";

const INPUT = "w-full min-w-0 rounded-md border border-line-strong/60 bg-surface px-2";

/** Returns true if the field's control can show the value unchanged. */
export function showsInControl(field: ScalarField, value: JsonValue): boolean {
  if (field.kind === "number") return textOfNumber(value) !== undefined;
  if (field.kind !== "enum") return typeof value === field.kind;
  return field.options.some((option) => formatJson(option, 0) === formatJson(value, 0));
}

/** Control of one scalar. Numbers are exact. Invalid input stays a text, so that the validation reports it. */
export function ScalarControl({
  id,
  field,
  value,
  label,
  onChange,
}: {
  readonly id?: string;
  readonly field: ScalarField;
  readonly value: JsonValue;
  readonly label: string;
  readonly onChange: (next: JsonValue) => void;
}) {
  const named = id === undefined ? { "aria-label": label } : { id };
  if (field.kind === "enum") {
    const texts = field.options.map((option) => formatJson(option, 0));
    return (
      <select
        {...named}
        className={`${INPUT} h-7`}
        value={formatJson(value, 0)}
        onChange={(event) => onChange(field.options[texts.indexOf(event.target.value)] ?? null)}
      >
        {texts.map((text) => (
          <option key={text} value={text}>
            {text}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === "boolean") {
    return (
      <select
        {...named}
        className={`${INPUT} h-7`}
        value={String(value)}
        onChange={(event) => onChange(event.target.value === "true")}
      >
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  if (field.kind === "number") {
    const text = textOfNumber(value) ?? "";
    return (
      <input
        {...named}
        className={`${INPUT} h-7 tabular-nums`}
        inputMode="decimal"
        value={text}
        aria-invalid={typeof value === "string" || undefined}
        onChange={(event) => onChange(numberFromText(event.target.value))}
      />
    );
  }
  const text = String(value);
  return (
    <textarea
      {...named}
      rows={Math.min(8, text.split("\n").length)}
      className={`${INPUT} py-1 font-mono text-[12px]`}
      spellCheck={false}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
