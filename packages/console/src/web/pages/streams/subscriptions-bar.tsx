import { CircleAlert, LoaderCircle, Plus, Radio, X } from "lucide-react";
import { useState } from "react";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { cn } from "../../ui/cn.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { readSubscription, subscriptionName } from "./subscription-names.ts";
import { useCatalogue } from "./use-catalogue.ts";
import type { SubscriptionState } from "./use-subscriptions.ts";

/** Groups that the page has joined. They are part of the page's address. */
export function SubscriptionsBar({
  names,
  states,
  onJoin,
  onLeave,
}: {
  readonly names: readonly string[];
  readonly states: ReadonlyMap<string, SubscriptionState>;
  readonly onJoin: (name: string) => void;
  readonly onLeave: (name: string) => void;
}) {
  const [isAsking, setAsking] = useState(false);
  return (
    <section
      aria-label={t`Subscriptions`}
      className="flex min-h-10 flex-wrap items-center gap-1.5 border-line border-b bg-surface px-4 py-1.5"
    >
      <h2 className="mr-1 text-ink-2">{t`Subscriptions`}</h2>
      {names.map((name) => (
        <Chip
          key={name}
          name={name}
          state={states.get(name) ?? { status: "joining", reason: null }}
          onLeave={() => onLeave(name)}
        />
      ))}
      <Button
        className="h-6 px-2 text-[12px]"
        onClick={() => setAsking(true)}
        icon={<Plus aria-hidden className="size-3.5" />}
      >
        {t`Join a group`}
      </Button>
      {names.length === 0 && (
        <span className="text-ink-3 max-sm:hidden">
          {t`Join a group to receive its events here, with or without other clients.`}
        </span>
      )}
      {isAsking && <JoinDialog onClose={() => setAsking(false)} onJoin={onJoin} joined={names} />}
    </section>
  );
}

const STATUS: Readonly<
  Record<
    SubscriptionState["status"],
    { readonly text: string; readonly className: string; readonly icon: typeof Radio }
  >
> = {
  joining: { text: t`Joining`, className: "border-line text-ink-2", icon: LoaderCircle },
  live: { text: t`Live`, className: "border-ok/40 bg-ok-soft text-ok", icon: Radio },
  rejoining: { text: t`Rejoining`, className: "border-warn/40 bg-warn-soft text-warn", icon: LoaderCircle },
  refused: { text: t`Failed`, className: "border-danger/40 bg-danger-soft text-danger", icon: CircleAlert },
};

function Chip({
  name,
  state: { status, reason },
  onLeave,
}: {
  readonly name: string;
  readonly state: SubscriptionState;
  readonly onLeave: () => void;
}) {
  const { text, className, icon: Icon } = STATUS[status];
  const group = readSubscription(name);
  const label = group === undefined ? name : `${group.stream}:${group.group}`;
  return (
    <span
      className={cn("inline-flex h-6 max-w-full items-center gap-1 rounded-full border pl-2 text-[12px]", className)}
      title={reason ?? undefined}
    >
      <Icon aria-hidden className={cn("size-3 shrink-0", Icon === LoaderCircle && "animate-spin")} />
      <span className="truncate font-medium">{label}</span>
      <span className="truncate">
        {text}
        {status === "refused" && reason !== null && `: ${reason}`}
      </span>
      <button
        type="button"
        aria-label={t`Leave ${label}`}
        onClick={onLeave}
        className="flex size-6 shrink-0 items-center justify-center rounded-full hover:bg-hover"
      >
        <X aria-hidden className="size-3" />
      </button>
    </span>
  );
}

function JoinDialog({
  onClose,
  onJoin,
  joined,
}: {
  readonly onClose: () => void;
  readonly onJoin: (name: string) => void;
  readonly joined: readonly string[];
}) {
  const { data = [] } = useCatalogue();
  const [stream, setStream] = useState("");
  const [group, setGroup] = useState("");
  const name = stream === "" || group === "" ? undefined : subscriptionName(stream, group);
  const groups = data.find((each) => each.name === stream)?.groups ?? [];
  const submit = (): void => {
    if (name === undefined) return;
    onJoin(name);
    onClose();
  };
  const refusal =
    name === undefined ? t`Enter a stream and a group` : joined.includes(name) ? t`Already joined` : undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Join a group`}
      description={t`The console joins the group like a client, and the monitor shows the messages that it receives.`}
    >
      <form
        className="flex flex-col gap-3 p-0.5"
        onSubmit={(event) => {
          event.preventDefault();
          if (refusal === undefined) submit();
        }}
      >
        <Field label={t`Stream`} value={stream} onChange={setStream} options={data.map((each) => each.name)} />
        <Field label={t`Group`} value={group} onChange={setGroup} options={groups.map((each) => each.group_id)} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t`Cancel`}</Button>
          <Button type="submit" look="primary" disabledReason={refusal}>
            {t`Join`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Field({
  label,
  value,
  onChange,
  options,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly string[];
}) {
  const list = `join-${label.toLowerCase()}`;
  return (
    <label className="flex flex-col gap-1 text-ink-2">
      {label}
      <input
        value={value}
        list={list}
        maxLength={256}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
        className="h-8 rounded-md border border-line-strong/60 bg-surface px-2 text-ink"
      />
      <datalist id={list}>
        {options.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </label>
  );
}
