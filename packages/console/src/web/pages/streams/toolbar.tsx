import { Download, Eraser, Pause, Play, Upload } from "lucide-react";
import { useRef } from "react";
import type { SearchOf } from "../../app/search.ts";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { CheckBox } from "../../ui/check-box.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { MoreTools } from "../../ui/more-tools.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import type { MessageLog } from "./message-log.ts";

type Search = SearchOf<"streams">;

/** Filters by direction, text, stream, group and type. System streams and connection events can be included. */
export function Filters({
  search,
  change,
  inbound,
  outbound,
  hidden,
  log,
  problem,
}: {
  readonly search: Search;
  readonly change: (change: Partial<Search>) => void;
  readonly inbound: number;
  readonly outbound: number;
  /** Number of messages in the log that the filters hide. */
  readonly hidden: number;
  readonly log: MessageLog;
  readonly problem: string | undefined;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b px-4 py-1.5">
      <FilterTabs
        label={t`Direction`}
        value={search.dir ?? "all"}
        onChange={(value) => change({ dir: value === "all" ? undefined : value })}
        tabs={[
          { value: "all", label: t`All`, count: inbound + outbound },
          { value: "inbound", label: t`Inbound`, count: inbound },
          { value: "outbound", label: t`Outbound`, count: outbound },
        ]}
      />
      <SearchBox
        label={t`Search or /pattern/`}
        value={search.q ?? ""}
        onChange={(q) => change({ q: q || undefined })}
        className="w-80 max-sm:w-full"
      />
      <Choice
        label={t`Stream`}
        value={search.stream}
        options={log.seen.streams}
        onChange={(stream) => change({ stream })}
      />
      <Choice label={t`Group`} value={search.group} options={log.seen.groups} onChange={(group) => change({ group })} />
      <Choice label={t`Type`} value={search.type} options={log.seen.types} onChange={(type) => change({ type })} />
      <CheckBox
        className="inline-flex h-7 cursor-pointer"
        label={t`System streams`}
        isOn={search.system === true}
        onChange={(system) => change({ system: system || undefined })}
      />
      <CheckBox
        className="inline-flex h-7 cursor-pointer"
        label={t`Connection events`}
        isOn={search.events === true}
        onChange={(events) => change({ events: events || undefined })}
      />
      {hidden > 0 && (
        <span className="text-[12px] text-ink-3" title={t`Included in the counters above, not in the list`}>
          {t`${hidden} hidden by ${hidingFilters(search)}`}
        </span>
      )}
      {problem !== undefined && (
        <p role="alert" className="basis-full text-danger">
          {problem}
        </p>
      )}
    </div>
  );
}

/**
 * Returns the names of the filters that hide messages. The direction is not among them, because the tabs count both
 * directions.
 */
function hidingFilters({ q, stream, group, type, system, events }: Search): string {
  const filters = [q, stream, group, type].some((value) => value !== undefined);
  const off = [system !== true && t`system streams`, events !== true && t`connection events`].filter(
    (name) => name !== false,
  );
  if (off.length === 0) return t`the filters`;
  return filters ? t`the filters, or because ${off.join(" and ")} are off` : t`default: ${off.join(" and ")} are off`;
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly options: ReadonlySet<string>;
  readonly onChange: (value: string | undefined) => void;
}) {
  const all = [...new Set([...(value === undefined ? [] : [value]), ...options])].sort();
  return (
    <select
      aria-label={label}
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value || undefined)}
      className="h-7 max-w-40 rounded-md border border-line-strong/60 bg-surface px-1.5"
    >
      <option value="">{t`${label}: any`}</option>
      {all.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}

/** Actions on the list: pause, clear, export and import. */
export function Actions({
  isPaused,
  canPause,
  onPause,
  onClear,
  onExport,
  onImport,
  hasRows,
}: {
  readonly isPaused: boolean;
  readonly canPause: boolean;
  readonly onPause: () => void;
  readonly onClear: () => void;
  readonly onExport: (format: "ndjson" | "json") => void;
  readonly onImport: (file: File) => void;
  readonly hasRows: boolean;
}) {
  const file = useRef<HTMLInputElement>(null);
  const emptyReason = hasRows ? undefined : t`The list is empty`;
  return (
    <div className="ml-auto flex flex-wrap gap-1.5">
      <Button
        onClick={onPause}
        aria-pressed={isPaused}
        title={t`Pause or resume (p)`}
        disabledReason={canPause ? undefined : t`A file is shown, which is not live`}
        icon={isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
      >
        <span className="max-sm:sr-only">{isPaused ? t`Resume` : t`Pause`}</span>
      </Button>
      <Button
        onClick={onClear}
        disabledReason={emptyReason}
        title={t`Clear this view; counters and stored messages are kept`}
        icon={<Eraser aria-hidden className="size-3.5" />}
      >
        <span className="max-sm:sr-only">{t`Clear view`}</span>
      </Button>
      <MoreTools>
        <Button
          onClick={() => onExport("ndjson")}
          disabledReason={emptyReason}
          title={t`The messages shown, one JSON object in each line, with secrets masked`}
          icon={<Download aria-hidden className="size-3.5" />}
        >
          {t`NDJSON`}
        </Button>
        <Button
          onClick={() => onExport("json")}
          disabledReason={emptyReason}
          title={t`The messages shown, as a JSON array, with secrets masked`}
          icon={<Download aria-hidden className="size-3.5" />}
        >
          {t`JSON`}
        </Button>
        <Button
          onClick={() => file.current?.click()}
          title={t`Show the messages of a file exported from this page`}
          icon={<Upload aria-hidden className="size-3.5" />}
        >
          {t`Import`}
        </Button>
      </MoreTools>
      <input
        ref={file}
        type="file"
        aria-label={t`File with messages`}
        accept=".json,.ndjson,.jsonl"
        className="hidden"
        onChange={(event) => {
          const selected = event.target.files?.[0];
          if (selected !== undefined) onImport(selected);
          event.target.value = "";
        }}
      />
    </div>
  );
}
