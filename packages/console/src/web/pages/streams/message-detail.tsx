import { Link } from "@tanstack/react-router";
import { Send } from "lucide-react";
import { useMemo, useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { callText } from "../../lib/api.ts";
import { formatJson, parseJson } from "../../lib/json.ts";
import { maskProblem } from "../../lib/mask-problem.ts";
import { maskedText } from "../../lib/secrets.ts";
import { bytes } from "../../lib/time.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { JsonDiff } from "../../ui/json-diff.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { useReveal } from "../../ui/reveal-secrets.tsx";
import { Timestamp } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { itemOf, type MonitorMessage, type MonitorRow, previewOf, previousOf, resendOf } from "./message.ts";
import { Direction, MarkerText } from "./message-table.tsx";

/**
 * A message with its metadata, its payload, and the diff with the previous message. `rows` is the whole log, the oldest
 * first.
 */
export function MessageDetail({
  row,
  rows,
}: {
  readonly row: MonitorRow | undefined;
  readonly rows: readonly MonitorRow[];
}) {
  if (row === undefined) {
    return (
      <p className="p-4 text-ink-2">
        {t`This message is no longer available. The page stores the latest 20,000 messages that it received.`}
      </p>
    );
  }
  if (row.kind === "marker") {
    return (
      <p className="p-4">
        <MarkerText marker={row} />
      </p>
    );
  }
  return <Message key={row.id} message={row} rows={rows} />;
}

function Message({ message, rows }: { readonly message: MonitorMessage; readonly rows: readonly MonitorRow[] }) {
  const { direction, timestamp, stream, group, type, bytes: size, connection_id, payload, truncated } = message;
  const item = itemOf(message);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows that arrive later cannot precede the message
  const previous = useMemo(() => previousOf(rows, message), [message]);
  return (
    <div className="flex flex-col gap-4 p-4">
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
        <Fact name={t`Time`}>
          <Timestamp ms={timestamp} as="date" />{" "}
          <Timestamp ms={timestamp} className="font-mono text-[12px] text-ink-2" />
        </Fact>
        <Fact name={t`Direction`}>
          <Direction direction={direction} />
        </Fact>
        <Fact name={t`Stream`}>
          {stream === null ? (
            t`none: a connection message`
          ) : (
            <Link
              to="/streams/{-$messageId}"
              search={(before: object) => ({ ...before, stream })}
              params={true}
              className="inline-block min-h-6 min-w-6 break-all text-accent underline"
            >
              {stream}
            </Link>
          )}
        </Fact>
        {group !== null && (
          <Fact name={t`Group`}>
            <Link
              to="/streams/{-$messageId}"
              search={(before: object) => ({ ...before, group })}
              params={true}
              className="inline-block min-h-6 min-w-6 break-all text-accent underline"
            >
              {group}
            </Link>
          </Fact>
        )}
        {item !== null && (
          <Fact name={t`Item`}>
            <code className="break-all">{item}</code>
          </Fact>
        )}
        <Fact name={t`Type`}>
          <Badge>{type}</Badge>
        </Fact>
        <Fact name={t`Size`}>{t`${bytes(size)} (${size} bytes)`}</Fact>
        <Fact name={t`Connection`}>
          <code className="break-all">{connection_id}</code>{" "}
          <CopyButton text={connection_id} label={t`Copy the connection ID`} className="size-6" />
        </Fact>
      </dl>
      <section aria-labelledby="payload">
        <h3 id="payload" className="font-medium">
          {t`Message`}
        </h3>
        {truncated && (
          <p className="my-1 rounded-md bg-warn-soft px-3 py-1.5 text-warn">
            {t`Showing the first ${bytes(new Blob([payload]).size)} of ${bytes(size)}: the engine truncates long messages. Read the item to see the whole value.`}
          </p>
        )}
        <JsonView text={payload} name={t`message`} openTo={4} />
      </section>
      {previous !== undefined && <Difference before={previous} after={message} />}
      <Resend message={message} />
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}

function Difference({ before, after }: { readonly before: MonitorMessage; readonly after: MonitorMessage }) {
  const [plainOld, plainNow] = [prettyData(before), prettyData(after)];
  const [maskedOld, maskedNow] = [maskedText(plainOld), maskedText(plainNow)];
  const { isRevealed, button } = useReveal(plainOld !== maskedOld || plainNow !== maskedNow);
  const [old, now] = isRevealed ? [plainOld, plainNow] : [maskedOld, maskedNow];
  return (
    <section aria-labelledby="difference">
      <h3 id="difference" className="mb-1 font-medium">
        {rich`Changed since ${<Timestamp ms={before.timestamp} />}`}
      </h3>
      {button}
      {old === now ? (
        <p className="text-ink-2">
          {plainOld === plainNow ? t`No change: the data is the same.` : t`Only secrets, which are masked.`}
        </p>
      ) : (
        <JsonDiff label={t`Changes since the previous message`} before={old} after={now} />
      )}
    </section>
  );
}

function prettyData(message: MonitorMessage): string {
  const text = previewOf(message);
  try {
    return formatJson(parseJson(text));
  } catch {
    return text;
  }
}

/** Sends an event of a user's stream to its group again. */
function Resend({ message }: { readonly message: MonitorMessage }) {
  const [isAsking, setAsking] = useState(false);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<string>();
  const { phase } = useLiveState();
  const writeRefusal = useWriteRefusal(phase);
  const event = resendOf(message);
  if (event === undefined) return null;
  const refusal = writeRefusal ?? maskProblem(event.payloadJson);
  const send = (): void => {
    setPending(true);
    setFailure(undefined);
    callText("stream::send", event.payloadJson).then(
      () => {
        setPending(false);
        setAsking(false);
        toast(t`The event “${event.type}” was sent to ${message.stream ?? ""} / ${message.group ?? ""}`);
      },
      (error: Error) => {
        setPending(false);
        setFailure(error.message);
      },
    );
  };
  return (
    <div>
      <Button disabledReason={refusal} onClick={() => setAsking(true)} icon={<Send aria-hidden className="size-3.5" />}>
        {t`Send this event again`}
      </Button>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={t`Send the event “${event.type}” again?`}
        description={rich`${<code>stream::send</code>} sends it again to all subscribers of ${<strong>{message.stream}</strong>} / ${<strong>{message.group}</strong>}.`}
        action={t`Send again`}
        isPending={isPending}
        refusal={refusal}
        onConfirm={send}
      >
        {failure !== undefined && (
          <p role="alert" className="rounded-md bg-danger-soft px-3 py-1.5 text-danger">
            {failure}
          </p>
        )}
      </ConfirmDialog>
    </div>
  );
}
