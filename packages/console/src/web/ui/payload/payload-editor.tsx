import { useMemo, useState } from "react";
import { t } from "../../labels/translate.ts";
import { FilterTabs } from "../filter-tabs.tsx";
import { JsonEditor } from "../json-editor.tsx";
import { CheckResult } from "./check-result.tsx";
import { formFor } from "./form-model.ts";
import { SchemaForm } from "./schema-form.tsx";
import { useCheck } from "./use-check.ts";

/** Editor of a payload, as JSON or as a form for its schema. It shows the result of the validation. */
export function PayloadEditor({
  label,
  text,
  schema,
  onChange,
  onSubmit,
  children,
}: {
  readonly label: string;
  readonly text: string;
  readonly schema: unknown;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
  /** Content next to the tabs. */
  readonly children?: React.ReactNode;
}) {
  const model = useMemo(() => formFor(schema), [schema]);
  const [chosen, setView] = useState<"form" | "json">();
  // If the payload is a choice between schemas, the form is shown first, because it names the schemas and the JSON does
  // not.
  const view = chosen ?? (model.ok && model.choice !== undefined ? "form" : "json");
  const check = useCheck(text, schema);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <FilterTabs
          label={t`Edit as`}
          tabs={[
            { value: "json", label: t`JSON` },
            { value: "form", label: t`Form` },
          ]}
          value={view}
          onChange={setView}
        />
        <span className="flex-1" />
        {children}
      </div>
      {view === "form" ? (
        <SchemaForm model={model} text={text} onChange={onChange} onJson={() => setView("json")} />
      ) : (
        <JsonEditor
          label={label}
          value={text}
          schema={schema}
          onChange={onChange}
          onSubmit={onSubmit}
          className="max-h-[45vh] min-h-24"
        />
      )}
      {/* The space is always reserved, so that the buttons below do not move when the result appears. */}
      <div className="flex min-h-6 items-start">
        <CheckResult check={check} />
      </div>
    </>
  );
}
