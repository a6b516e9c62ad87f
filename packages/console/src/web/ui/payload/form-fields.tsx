import { Plus, X } from "lucide-react";
import { useId } from "react";
import { t } from "../../labels/translate.ts";
import { formatJson, type JsonValue } from "../../lib/json.ts";
import { Button } from "../button.tsx";
import { INPUT } from "../input-class.ts";
import { type Field, isObject, optionOf, type Path, type ScalarField, valueAt } from "./form-model.ts";
import { ScalarControl, showsInControl } from "./scalar-control.tsx";

interface FieldProps {
  readonly field: Field;
  readonly value: JsonValue;
  readonly path: Path;
  readonly onChange: (path: Path, next: JsonValue | undefined) => void;
  readonly onJson: () => void;
}

export function FieldRows({ fields, ...rest }: Omit<FieldProps, "field"> & { readonly fields: readonly Field[] }) {
  return fields.map((field) => <FieldRow key={field.name} field={field} {...rest} path={[...rest.path, field.name]} />);
}

/** A row for one member: its name, type and control, and a button that omits the member. */
function FieldRow(props: FieldProps) {
  const { field, value, path, onChange } = props;
  const id = useId();
  const present = valueAt(value, path);
  const about = [field.type, ...field.constraints].join(", ");
  return (
    <div className="flex flex-col gap-1">
      <div className="flex flex-wrap items-center gap-x-2">
        <label htmlFor={id} className="font-medium font-mono text-[12px]">
          {field.name}
          {field.required && (
            <span className="text-danger" title={t`Required`}>
              {" "}
              *<span className="sr-only">{t`required`}</span>
            </span>
          )}
        </label>
        <span className="min-w-0 break-words text-[12px] text-ink-3">{about}</span>
        <span className="flex-1" />
        {present === undefined ? (
          <Button
            id={id}
            look="ghost"
            className="h-6 px-1.5"
            onClick={() => onChange(path, field.initial)}
            icon={<Plus aria-hidden className="size-3.5" />}
            aria-label={t`Add ${field.name}`}
          >
            {t`Add`}
          </Button>
        ) : (
          <>
            {field.nullable && present !== null && (
              <Button
                look="ghost"
                className="h-6 px-1.5"
                aria-label={t`Set ${field.name} to null`}
                onClick={() => onChange(path, null)}
              >
                null
              </Button>
            )}
            {!field.required && (
              <Button
                look="ghost"
                className="h-6 w-6"
                aria-label={t`Omit ${field.name}`}
                title={t`Omit it`}
                onClick={() => onChange(path, undefined)}
                icon={<X aria-hidden className="size-3.5" />}
              />
            )}
          </>
        )}
      </div>
      {field.description !== undefined && <p className="text-[12px] text-ink-2">{field.description}</p>}
      {present === undefined ? (
        <p className="text-[12px] text-ink-3">{t`Not sent`}</p>
      ) : (
        <Control {...props} id={id} present={present} />
      )}
    </div>
  );
}

export function Control(props: FieldProps & { readonly id: string; readonly present: JsonValue }) {
  const { field, value, path, onChange, onJson, id, present } = props;
  if (field.kind === "object" && isObject(present)) {
    return (
      <fieldset id={id} aria-label={field.name} className="flex flex-col gap-3 border-line border-l-2 pl-3">
        <FieldRows fields={field.fields} value={value} path={path} onChange={onChange} onJson={onJson} />
      </fieldset>
    );
  }
  if (field.kind === "choice") {
    const chosen = optionOf(field.options, present);
    return (
      <div className="flex flex-col gap-2">
        <select
          id={id}
          aria-label={t`Schema of ${field.name}`}
          className={INPUT}
          value={chosen === undefined ? -1 : field.options.indexOf(chosen)}
          onChange={(event) => {
            const next = field.options[Number(event.target.value)];
            if (next !== undefined) onChange(path, next.field.initial);
          }}
        >
          {chosen === undefined && <option value={-1}>{t`Matches no schema`}</option>}
          {field.options.map(({ title }, at) => (
            <option key={title} value={at}>
              {title}
            </option>
          ))}
        </select>
        {chosen === undefined ? (
          <OtherValue value={present} onJson={onJson} />
        ) : (
          <Control {...props} id={`${id}-value`} field={chosen.field} />
        )}
      </div>
    );
  }
  if (field.kind === "array" && Array.isArray(present)) {
    const list: readonly JsonValue[] = present;
    return (
      <fieldset id={id} aria-label={field.name} className="flex flex-col gap-1 border-line border-l-2 pl-3">
        {list.map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an item of a list is what stands at its place
          <div key={at} className="flex items-center gap-1">
            {showsInControl(field.item, item) ? (
              <ScalarControl
                field={field.item}
                value={item}
                label={t`${field.name}, item ${at + 1}`}
                onChange={(next) => onChange([...path, at], next)}
              />
            ) : (
              <OtherValue value={item} onJson={onJson} />
            )}
            <Button
              look="ghost"
              className="h-6 w-6"
              aria-label={t`Remove item ${at + 1} of ${field.name}`}
              onClick={() => onChange([...path, at], undefined)}
              icon={<X aria-hidden className="size-3.5" />}
            />
          </div>
        ))}
        <Button
          look="ghost"
          className="h-6 self-start px-1.5"
          aria-label={t`Add an item to ${field.name}`}
          onClick={() => onChange([...path, list.length], firstOf(field.item))}
          icon={<Plus aria-hidden className="size-3.5" />}
        >
          {t`Item`}
        </Button>
      </fieldset>
    );
  }
  if (field.kind !== "object" && field.kind !== "array" && field.kind !== "json" && showsInControl(field, present)) {
    return (
      <ScalarControl
        id={id}
        field={field}
        value={present}
        label={field.name}
        onChange={(next) => onChange(path, next)}
      />
    );
  }
  return (
    <div id={id}>
      <OtherValue
        value={present}
        onJson={onJson}
        {...(present === null && field.kind !== "json" ? { onValue: () => onChange(path, firstOf(field)) } : {})}
      />
    </div>
  );
}

function firstOf(field: Field | ScalarField): JsonValue {
  if (field.kind === "enum") return field.options[0] ?? null;
  return { string: "", number: 0, boolean: false, array: [], object: {}, choice: null, json: null }[field.kind];
}

/** Shows a value that the control of the field cannot represent. */
function OtherValue({
  value,
  onJson,
  onValue,
}: {
  readonly value: JsonValue;
  readonly onJson: () => void;
  readonly onValue?: () => void;
}) {
  const text = formatJson(value, 0);
  return (
    <div className="flex min-w-0 flex-1 items-center gap-2">
      <code className="min-w-0 flex-1 truncate rounded-md bg-raised px-2 py-1">
        {text.length > 200 ? `${text.slice(0, 200)}…` : text}
      </code>
      {onValue !== undefined && (
        <Button className="h-6" onClick={onValue}>
          {t`Set a value`}
        </Button>
      )}
      <Button className="h-6" onClick={onJson}>
        {t`Edit as JSON`}
      </Button>
    </div>
  );
}
