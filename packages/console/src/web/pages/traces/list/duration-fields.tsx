import { durationMs } from "@svc-runtime/protocol/query";
import { useEffect, useState } from "react";
import { t } from "../../../labels/translate.ts";
import type { TraceSearch } from "../model/list-query.ts";

/** Inputs for the minimum and maximum duration. They accept, for example, `200ms` or `1.5s`. */
export function DurationFields({
  search,
  onChange,
}: {
  readonly search: TraceSearch;
  readonly onChange: (change: Partial<TraceSearch>) => void;
}) {
  return (
    <span className="hidden items-center gap-1 xl:flex">
      <span aria-hidden className="text-ink-2">
        {t`Duration`}
      </span>
      <Field label={t`Minimum duration`} hint={t`min`} ms={search.min} onChange={(min) => onChange({ min })} />
      <span aria-hidden className="text-ink-3">
        {t`to`}
      </span>
      <Field label={t`Maximum duration`} hint={t`max`} ms={search.max} onChange={(max) => onChange({ max })} />
    </span>
  );
}

function Field({
  label,
  hint,
  ms,
  onChange,
}: {
  readonly label: string;
  readonly hint: string;
  readonly ms: number | undefined;
  readonly onChange: (ms: number | undefined) => void;
}) {
  const written =
    ms === undefined ? "" : ms >= 1_000 ? `${Number((ms / 1_000).toPrecision(4))}s` : `${Number(ms.toPrecision(4))}ms`;
  const [text, setText] = useState(written);
  useEffect(() => setText(written), [written]);
  const read = durationMs(text);
  const isInvalid = text !== "" && read === undefined;
  const apply = (): void => {
    if (!isInvalid && text !== written) onChange(read);
  };
  return (
    <input
      aria-label={label}
      aria-invalid={isInvalid}
      title={t`${label}, e.g. 200ms or 1.5s`}
      placeholder={hint}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === "Enter" && apply()}
      className={`h-7 w-18 rounded-md border bg-surface px-2 font-mono text-[12px] placeholder:text-ink-3 ${isInvalid ? "border-danger" : "border-line-strong/60"}`}
    />
  );
}
