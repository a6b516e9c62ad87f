import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { callText } from "../../lib/api.ts";
import { formatJson, isBigNumber, type JsonValue, parseJson } from "../../lib/json.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataRegion, ErrorState, SkeletonRows } from "../../ui/data-region.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { RevealArea, useReveal } from "../../ui/reveal-secrets.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { Timestamp } from "../../ui/time.tsx";
import { ansiParts, plainText } from "./ansi.ts";
import { AttributeTable } from "./attribute-table.tsx";
import { functionOf, type Log, workerOf } from "./log.ts";
import { FunctionLink, LevelBadge, TraceLink } from "./log-columns.tsx";
import { holdsSecrets, maskedBody, maskedEntry } from "./masked-entry.ts";

type Values = Readonly<Record<string, JsonValue>>;

/**
 * Shows a complete entry with exact numbers. `known` is the same entry from the list, which is shown until the exact
 * entry is loaded.
 */
export function LogDetail({
  id,
  known,
  onColumn,
}: {
  readonly id: string;
  readonly known: Log | undefined;
  readonly onColumn: (key: string) => void;
}) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["logs", "entry", id],
    queryFn: async ({ signal }) =>
      parseJson(await callText("engine::logs::get", JSON.stringify({ id }), { signal })) as Values,
    retry: false,
  });
  const exact = isEntry(data) ? data : undefined;
  const log = (exact as unknown as Log | undefined) ?? known;
  if (log === undefined) {
    if (isPending) return <SkeletonRows rows={6} />;
    return error === null ? (
      <p className="p-4 text-ink-2">{t`Log entry not found; it may have been deleted or evicted.`}</p>
    ) : (
      <ErrorState error={error} retry={() => void refetch()} />
    );
  }
  // In the list's entry, large numbers are rounded. So copying waits for the exact entry, and fails if it cannot be
  // loaded.
  const readExact = async (): Promise<Values> => {
    const entry = exact ?? (await refetch({ cancelRefetch: false })).data;
    if (!isEntry(entry)) throw new Error(t`failed to load the entry`);
    return entry;
  };
  return (
    <DataRegion loading={false} error={error} retry={() => void refetch()} empty={false} emptyState={null}>
      <Entry log={log} readExact={readExact} onColumn={onColumn} />
    </DataRegion>
  );
}

function isEntry(value: Values | undefined): value is Values {
  return value !== undefined && value !== null && Object.hasOwn(value, "id");
}

function Entry({
  log,
  readExact,
  onColumn,
}: {
  readonly log: Log;
  readonly readExact: () => Promise<Values>;
  readonly onColumn: (key: string) => void;
}) {
  const json = useMemo(() => jsonBody(log.body), [log.body]);
  const hasSecrets = useMemo(
    () => holdsSecrets({ body: log.body, attributes: log.attributes as Values, resource: log.resource as Values }),
    [log],
  );
  const { isRevealed, button } = useReveal(hasSecrets);
  const body = (): string => plainText(isRevealed ? log.body : maskedBody(log.body));
  const functionId = functionOf(log);
  const worker = workerOf(log);
  const line = (): string =>
    `${new Date(log.timestamp_ms).toISOString()} ${log.severity_text} ${log.service_name} ${body()}`;
  const exactJson = async (): Promise<string> => {
    const entry = await readExact();
    return formatJson(isRevealed ? entry : maskedEntry(entry));
  };
  return (
    <div className="flex flex-col gap-4 p-4">
      <dl className="grid grid-cols-[max-content_1fr] items-baseline gap-x-4 gap-y-1">
        <Fact name={t`Level`}>
          <LevelBadge log={log} /> <span className="text-ink-3">{t`number ${String(log.severity_number)}`}</span>
        </Fact>
        <Fact name={t`Time`}>
          <Timestamp ms={log.timestamp_ms} as="date" />{" "}
          <Timestamp ms={log.timestamp_ms} className="font-mono text-[12px] text-ink-2" />
          <div className="break-all font-mono text-[11px] text-ink-3">{log.timestamp_unix_nano_text} ns</div>
        </Fact>
        <Fact name={t`Source`}>{log.service_name}</Fact>
        {functionId !== undefined && (
          <Fact name={t`Function`}>
            <FunctionLink id={functionId} isWhole />
          </Fact>
        )}
        {log.trace_id !== null && (
          <Fact name={t`Trace`}>
            <TraceLink log={log} isWhole />
            <div>
              <LogsOf search={{ trace: log.trace_id }}>{t`Logs of this trace`}</LogsOf>
            </div>
          </Fact>
        )}
        {log.span_id !== null && (
          <Fact name={t`Span`}>
            <code>{log.span_id}</code>
          </Fact>
        )}
        {log.instrumentation_scope_name !== undefined && (
          <Fact name={t`Scope`}>
            {log.instrumentation_scope_name} {log.instrumentation_scope_version}
          </Fact>
        )}
        <Fact name={t`More`}>
          <span className="flex flex-wrap gap-x-3">
            <LogsOf search={{ worker }}>{t`Logs of ${worker}`}</LogsOf>
            {functionId !== undefined && <LogsOf search={{ fn: functionId }}>{t`Logs of this function`}</LogsOf>}
          </span>
        </Fact>
      </dl>
      <section aria-label={t`Message`}>
        <div className="flex flex-wrap items-center gap-1.5 pb-1">
          <h3 className="flex-1 font-medium">{t`Message`}</h3>
          {button}
          <CopyButton text={body} label={t`Copy the message`} withText className="h-6 text-[12px]" />
          <CopyButton text={line} label={t`Copy with timestamp`} withText className="h-6 text-[12px]" />
          <CopyButton text={exactJson} label={t`Copy as JSON`} withText className="h-6 text-[12px]" />
        </div>
        {json === undefined ? (
          <Body text={log.body} />
        ) : (
          <JsonView text={json} name={t`message`} openTo={3} isPlain={isRevealed} />
        )}
      </section>
      <RevealArea isRevealed={isRevealed}>
        <AttributeTable title={t`Attributes`} values={log.attributes as Values} prefix="" onColumn={onColumn} />
        <AttributeTable title={t`Resource`} values={log.resource as Values} prefix="resource." onColumn={onColumn} />
      </RevealArea>
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}

/** Link to all entries that match `search`. The current filters are not included. */
function LogsOf({
  search,
  children,
}: {
  readonly search: { readonly trace?: string; readonly worker?: string; readonly fn?: string };
  readonly children: ReactNode;
}) {
  return (
    <Link to="/logs/{-$logId}" params={true} search={search} className="text-accent underline">
      {children}
    </Link>
  );
}

/** Text with ANSI colours. */
function Body({ text }: { readonly text: string }) {
  return (
    <ScrollArea label={t`Text`} className="max-h-96 rounded-md bg-raised p-2">
      <pre className="whitespace-pre-wrap break-words">
        {ansiParts(text).map(({ text: piece, className }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have nothing else
          <span key={index} className={className || undefined}>
            {piece}
          </span>
        ))}
      </pre>
    </ScrollArea>
  );
}

/** Returns the body if it is a JSON object or array. */
function jsonBody(body: string): string | undefined {
  const text = body.trim();
  if (!/^[[{]/.test(text)) return undefined;
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null && !isBigNumber(value) ? text : undefined;
  } catch {
    return undefined;
  }
}
