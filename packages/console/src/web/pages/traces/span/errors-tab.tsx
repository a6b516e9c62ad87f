import { t } from "../../../labels/translate.ts";
import { attributeOf, type StoredSpan } from "../../../model/trace-types.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { ScrollArea } from "../../../ui/scroll-area.tsx";
import { Timestamp } from "../../../ui/time.tsx";

interface SpanError {
  readonly type: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly atMs: number | undefined;
}

/** Returns the exceptions of the span. If it has none, returns its status message. */
export function errorsOf(span: StoredSpan): readonly SpanError[] {
  const exceptions = span.events
    .filter(({ name }) => name === "exception")
    .map((event) => ({
      type: attributeOf(event.attributes, "exception.type") ?? "exception",
      message: attributeOf(event.attributes, "exception.message") ?? "",
      stack: attributeOf(event.attributes, "exception.stacktrace"),
      atMs: event.timestamp_ms,
    }));
  if (exceptions.length > 0 || span.status !== "error") return exceptions;
  const type = attributeOf(span.attributes, "svc.error.code", "error.type") ?? "error";
  return [
    {
      type,
      message: span.status_description ?? t`The span failed without a message.`,
      stack: undefined,
      atMs: undefined,
    },
  ];
}

export function ErrorsTab({ errors }: { readonly errors: readonly SpanError[] }) {
  if (errors.length === 0) return <p className="p-3 text-ink-2">{t`No error was recorded in this span.`}</p>;
  return (
    <ol className="flex flex-col gap-3 p-3">
      {errors.map(({ type, message, stack, atMs }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: errors have no ids, and their order is fixed
        <li key={at} className="rounded-md border border-danger/40 p-2">
          <p className="flex items-center gap-2">
            <code className="rounded bg-danger-soft px-1.5 py-0.5 text-danger">{type}</code>
            {atMs !== undefined && <Timestamp ms={atMs} className="ml-auto font-mono text-[11px] text-ink-3" />}
            <CopyButton
              text={[`${type}: ${message}`, stack].filter((part) => part !== undefined).join("\n")}
              label={t`Copy the error`}
              className="size-6"
            />
          </p>
          <p className="mt-1 whitespace-pre-wrap break-words">{message}</p>
          {stack !== undefined && (
            <ScrollArea label={t`Stack trace`} className="mt-2 max-h-96 rounded-md bg-raised p-2">
              <pre>{stack}</pre>
            </ScrollArea>
          )}
        </li>
      ))}
    </ol>
  );
}
