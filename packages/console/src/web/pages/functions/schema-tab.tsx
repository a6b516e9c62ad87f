import { useMemo } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import type { FunctionItem } from "../../model/functions.ts";
import { asSchema, typeName } from "../../model/schema.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { schemaFields } from "./schema-fields.ts";

/** Input and result schemas of the function. */
export default function SchemaTab({ item }: { readonly item: FunctionItem }) {
  return (
    <div className="flex flex-col gap-6 p-4">
      {item.format_problem !== null && (
        <p role="alert" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          {t`The engine cannot validate inputs with this schema: ${item.format_problem}`}
        </p>
      )}
      <SchemaSection
        title={t`Input`}
        empty={t`No schema. Set it with requestFormat in TypeScript, or with type hints in Python.`}
        schema={item.request_format}
        note={item.validated ? t`The engine rejects inputs that do not match.` : undefined}
      />
      <SchemaSection
        title={t`Result`}
        schema={item.response_format}
        note={undefined}
        empty={t`No schema. Set it with responseFormat in TypeScript, or with type hints in Python.`}
      />
    </div>
  );
}

function SchemaSection({
  title,
  schema,
  note,
  empty,
}: {
  readonly title: string;
  readonly schema: unknown;
  readonly note: string | undefined;
  /** Text that is shown if there is no schema. */
  readonly empty: string;
}) {
  const fields = useMemo(() => schemaFields(schema), [schema]);
  const root = asSchema(schema);
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h3 className="font-medium text-[14px]">{title}</h3>
      {note !== undefined && <p className="text-ink-2">{note}</p>}
      {schema === null || schema === undefined ? (
        <p className="text-ink-2">{empty}</p>
      ) : (
        <>
          {root !== undefined && (
            <p>
              {rich`Type ${<code>{typeName(root, root)}</code>}`}
              {typeof root.description === "string" && <span className="text-ink-2">: {root.description}</span>}
            </p>
          )}
          {fields.length > 0 && (
            <ScrollArea label={t`Fields of the ${title.toLowerCase()}`} className="rounded-md border border-line">
              <table className="w-full text-left">
                <thead className="bg-raised text-[12px] text-ink-2">
                  <tr>
                    {[t`Name`, t`Type`, t`Required`, t`Default`, t`Constraints`, t`Description`].map((header) => (
                      <th key={header} scope="col" className="px-2 py-1 font-medium">
                        {header}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {fields.map((field) => (
                    <tr key={field.path} className="border-line border-t align-top">
                      <th scope="row" className="px-2 py-1 font-medium font-mono text-[12px]">
                        {field.path}
                      </th>
                      <td className="px-2 py-1">{field.type}</td>
                      <td className="px-2 py-1">{field.required ? t`yes` : t`no`}</td>
                      <td className="px-2 py-1 font-mono text-[12px]">{field.default ?? ""}</td>
                      <td className="px-2 py-1 text-ink-2">{field.constraints.join("; ")}</td>
                      <td className="min-w-40 px-2 py-1 text-ink-2">{field.description ?? ""}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollArea>
          )}
          <details>
            <summary className="cursor-pointer text-accent">{t`As JSON`}</summary>
            <JsonView
              text={JSON.stringify(schema, undefined, 2)}
              name={`${title.toLowerCase()}-schema`}
              openTo={4}
              isPlain
              className="pt-2"
            />
          </details>
        </>
      )}
    </section>
  );
}
