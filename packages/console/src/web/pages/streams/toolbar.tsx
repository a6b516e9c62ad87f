import { Download, Eraser, Pause, Play, Upload } from "lucide-react";
import { useRef } from "react";
import type { SearchOf } from "../../app/search.ts";
import { Button } from "../../ui/button.tsx";
import { CheckBox } from "../../ui/check-box.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { MoreTools } from "../../ui/more-tools.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import type { MessageLog } from "./message-log.ts";

type Search = SearchOf<"streams">;

/** Filters: direction, text, stream, group, type, system streams and connection events. */
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
        label="Direction"
        value={search.dir ?? "all"}
        onChange={(value) => change({ dir: value === "all" ? undefined : value })}
        tabs={[
          { value: "all", label: "All", count: inbound + outbound },
          { value: "inbound", label: "Inbound", count: inbound },
          { value: "outbound", label: "Outbound", count: outbound },
        ]}
      />
      <SearchBox
        label="Search or /pattern/"
        value={search.q ?? ""}
        onChange={(q) => change({ q: q || undefined })}
        className="w-80 max-sm:w-full"
      />
      <Choice
        label="Stream"
        value={search.stream}
        options={log.seen.streams}
        onChange={(stream) => change({ stream })}
      />
      <Choice label="Group" value={search.group} options={log.seen.groups} onChange={(group) => change({ group })} />
      <Choice label="Type" value={search.type} options={log.seen.types} onChange={(type) => change({ type })} />
      <CheckBox
        className="inline-flex h-7 cursor-pointer"
        label="System streams"
        isOn={search.system === true}
        onChange={(system) => change({ system: system || undefined })}
      />
      <CheckBox
        className="inline-flex h-7 cursor-pointer"
        label="Connection events"
        isOn={search.events === true}
        onChange={(events) => change({ events: events || undefined })}
      />
      {hidden > 0 && (
        <span className="text-[12px] text-ink-3" title="Included in the counters above, not in the list">
          {hidden.toLocaleString("en-GB")} hidden by {hidingFilters(search)}
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

/** Names the filters that hide messages, except the direction: the tabs count both. */
function hidingFilters({ q, stream, group, type, system, events }: Search): string {
  const filters = [q, stream, group, type].some((value) => value !== undefined);
  const off = [system !== true && "system streams", events !== true && "connection events"].filter(
    (name) => name !== false,
  );
  if (off.length === 0) return "the filters";
  return `${filters ? "the filters, or because " : "default: "}${off.join(" and ")} are off`;
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
      <option value="">{`${label}: any`}</option>
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
  const emptyReason = hasRows ? undefined : "The list is empty";
  return (
    <div className="ml-auto flex flex-wrap gap-1.5">
      <Button
        onClick={onPause}
        aria-pressed={isPaused}
        title="Pause or resume (p)"
        disabledReason={canPause ? undefined : "A file is shown, which is not live"}
        icon={isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
      >
        <span className="max-sm:sr-only">{isPaused ? "Resume" : "Pause"}</span>
      </Button>
      <Button
        onClick={onClear}
        disabledReason={emptyReason}
        title="Clear this view; counters and stored messages are kept"
        icon={<Eraser aria-hidden className="size-3.5" />}
      >
        <span className="max-sm:sr-only">Clear view</span>
      </Button>
      <MoreTools>
        <Button
          onClick={() => onExport("ndjson")}
          disabledReason={emptyReason}
          title="The messages shown, one JSON object in each line, with secrets masked"
          icon={<Download aria-hidden className="size-3.5" />}
        >
          NDJSON
        </Button>
        <Button
          onClick={() => onExport("json")}
          disabledReason={emptyReason}
          title="The messages shown, as a JSON array, with secrets masked"
          icon={<Download aria-hidden className="size-3.5" />}
        >
          JSON
        </Button>
        <Button
          onClick={() => file.current?.click()}
          title="Show the messages of a file exported from this page"
          icon={<Upload aria-hidden className="size-3.5" />}
        >
          Import
        </Button>
      </MoreTools>
      <input
        ref={file}
        type="file"
        aria-label="File with messages"
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
