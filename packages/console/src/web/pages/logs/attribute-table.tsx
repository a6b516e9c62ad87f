import { getRouteApi } from "@tanstack/react-router";
import { Columns3, Minus, Plus } from "lucide-react";
import { useState } from "react";
import { t } from "../../labels/translate.ts";
import { attrParam } from "../../lib/attr-param.ts";
import { formatJson, type JsonValue } from "../../lib/json.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { useShown } from "../../ui/reveal-secrets.tsx";
import { SearchBox } from "../../ui/search-box.tsx";

const route = getRouteApi("/logs/{-$logId}");
/** Number of attributes above which the table has a search box. */
const SEARCH_ABOVE = 12;
/** Maximum length of a value in the table, in characters. */
const MAX_VALUE = 2_000;

/**
 * Table of attribute names and values. Each row has buttons that filter by the value, exclude the value, or show the
 * attribute as a column.
 */
export function AttributeTable({
  title,
  values,
  prefix,
  onColumn,
}: {
  readonly title: string;
  readonly values: Readonly<Record<string, JsonValue>>;
  /** Prefix of the names in filters and columns. */
  readonly prefix: string;
  readonly onColumn: (key: string) => void;
}) {
  const [q, setQ] = useState("");
  const all = Object.entries(values).map(
    ([name, value]) => [name, typeof value === "string" ? value : formatJson(value, 0)] as const,
  );
  const wanted = q.toLowerCase();
  const shown = all.filter((pair) => pair.some((text) => text.toLowerCase().includes(wanted)));
  return (
    <section aria-label={title}>
      <div className="flex items-center gap-2 pb-1">
        <h3 className="flex-1 font-medium">
          {title} <span className="font-mono text-[11px] text-ink-3">{all.length}</span>
        </h3>
        {all.length > SEARCH_ABOVE && (
          <SearchBox label={t`Search ${title.toLowerCase()}`} value={q} onChange={setQ} hotkey={undefined} />
        )}
      </div>
      {all.length === 0 && <p className="text-ink-3">{t`None`}</p>}
      {shown.length > 0 && (
        <table className="w-full table-fixed border-collapse">
          <tbody>
            {shown.map(([name, value]) => (
              <AttributeRow key={name} name={name} value={value} prefix={prefix} onColumn={onColumn} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** A row of the table. A masked secret has no filter buttons, because a filter would put its value into the address. */
function AttributeRow({
  name,
  value,
  prefix,
  onColumn,
}: {
  readonly name: string;
  readonly value: string;
  readonly prefix: string;
  readonly onColumn: (key: string) => void;
}) {
  const navigate = route.useNavigate();
  const { shown, isMasked } = useShown(name, value);
  const add = (negated: boolean): void => {
    const param = attrParam({
      kind: "field",
      field: prefix === "" ? `attr.${name}` : `${prefix}${name}`,
      op: "equals",
      value,
      negated,
      off: false,
    });
    void navigate({ search: (before) => ({ ...before, attr: [...new Set([...(before.attr ?? []), param])] }) });
  };
  return (
    <tr className="border-line/60 border-t align-top">
      <th scope="row" className="w-[38%] break-words py-1 pr-2 text-left font-mono font-normal text-[12px] text-ink-2">
        {name}
      </th>
      <td className="break-words py-1 font-mono text-[12px]">
        {shown.length > MAX_VALUE ? `${shown.slice(0, MAX_VALUE)}…` : shown}
      </td>
      <td className="w-28 py-0.5 text-right align-top">
        {!isMasked && (
          <>
            <Button
              look="ghost"
              className="size-6"
              aria-label={t`Filter by this value of ${name}`}
              title={t`Filter by this value`}
              onClick={() => add(false)}
              icon={<Plus aria-hidden className="size-3.5" />}
            />
            <Button
              look="ghost"
              className="size-6"
              aria-label={t`Exclude this value of ${name}`}
              title={t`Exclude this value`}
              onClick={() => add(true)}
              icon={<Minus aria-hidden className="size-3.5" />}
            />
          </>
        )}
        <Button
          look="ghost"
          className="size-6"
          aria-label={t`Show ${name} as a column`}
          title={t`Show as a column`}
          onClick={() => onColumn(`${prefix}${name}`)}
          icon={<Columns3 aria-hidden className="size-3.5" />}
        />
        <CopyButton text={shown} label={t`Copy ${name}`} className="size-6" />
      </td>
    </tr>
  );
}
