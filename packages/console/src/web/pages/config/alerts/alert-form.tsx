import { type ReactNode, useId, useState } from "react";
import { t } from "../../../labels/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import {
  type AlertDraft,
  type DraftProblems,
  draftOf,
  NEW_ALERT,
  OPERATORS,
  problemsOf,
  ruleOf,
} from "./alert-draft.ts";
import { type Alert, useAlertChange, useMetricNames } from "./use-alerts.ts";

const FIELD = "h-8 w-full min-w-0 rounded-md border border-line-strong/60 bg-surface px-2";

/** Form for an alert. If `alert` is given, the form edits it. Otherwise it creates an alert. */
export function AlertForm({
  alert,
  refusal,
  onClose,
}: {
  readonly alert: Alert | undefined;
  readonly refusal: string | undefined;
  readonly onClose: () => void;
}) {
  const [draft, setDraft] = useState<AlertDraft>(alert === undefined ? NEW_ALERT : draftOf(alert));
  const [isSubmitted, setSubmitted] = useState(false);
  const change = useAlertChange();
  const formId = useId();
  const problems: DraftProblems = isSubmitted ? problemsOf(draft) : {};
  const set = (next: Partial<AlertDraft>): void => setDraft({ ...draft, ...next });
  const send = (): void => {
    setSubmitted(true);
    if (Object.keys(problemsOf(draft)).length > 0) return;
    const functionId = alert === undefined ? "engine::alerts::create" : "engine::alerts::update";
    change.mutate({ functionId, payload: ruleOf(draft) }, { onSuccess: onClose });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={alert === undefined ? t`New alert` : t`Edit ${alert.name}`}
      description={t`The engine evaluates alerts every 5 s and keeps them across restarts.`}
      footer={
        <>
          <Button onClick={onClose}>{t`Cancel`}</Button>
          <Button look="primary" type="submit" form={formId} isPending={change.isPending} disabledReason={refusal}>
            {alert === undefined ? t`Create` : t`Save`}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        noValidate
        className="grid grid-cols-1 gap-3 sm:grid-cols-2"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Field label={t`Name`} problem={problems.name} isWide>
          {(aria) => (
            <input
              {...aria}
              className={FIELD}
              value={draft.name}
              disabled={alert !== undefined}
              onChange={(event) => set({ name: event.target.value })}
            />
          )}
        </Field>
        <MetricField draft={draft} set={set} problem={problems.metric} />
        <Field label={t`Fires when the value is`}>
          {(aria) => (
            <select
              {...aria}
              className={FIELD}
              value={draft.operator}
              onChange={(event) => set({ operator: event.target.value })}
            >
              {OPERATORS.map((operator) => (
                <option key={operator}>{operator}</option>
              ))}
            </select>
          )}
        </Field>
        <TextField label={t`Threshold`} field="threshold" {...{ draft, set, problems }} />
        <TextField label={t`Window in seconds`} field="windowSeconds" {...{ draft, set, problems }} />
        <TextField label={t`Pending period in seconds`} field="forSeconds" {...{ draft, set, problems }} />
        <TextField label={t`Cooldown in seconds`} field="cooldownSeconds" {...{ draft, set, problems }} />
        <label className="flex items-center gap-2 self-end pb-1.5 text-ink-2">
          <input type="checkbox" checked={draft.rate} onChange={(event) => set({ rate: event.target.checked })} />
          {t`Compare the increase per second`}
        </label>
        <Field label={t`Only series with these labels (one name=value per line)`} problem={problems.labels} isWide>
          {(aria) => (
            <textarea
              {...aria}
              rows={2}
              className={`${FIELD} h-auto py-1 font-mono`}
              value={draft.labels}
              onChange={(event) => set({ labels: event.target.value })}
            />
          )}
        </Field>
        <ActionFields draft={draft} set={set} problems={problems} hasAction={alert !== undefined} />
      </form>
      {change.error !== null && (
        <p role="alert" className="mt-3 text-danger">
          {t`Failed to save: ${change.error.message}`}
        </p>
      )}
    </Dialog>
  );
}

interface FieldsProps {
  readonly draft: AlertDraft;
  readonly set: (next: Partial<AlertDraft>) => void;
  readonly problems: DraftProblems;
}

function MetricField({
  draft,
  set,
  problem,
}: Omit<FieldsProps, "problems"> & { readonly problem: string | undefined }) {
  const { data } = useMetricNames();
  const listId = useId();
  const known = data?.names.find(({ name }) => name === draft.metric);
  return (
    <Field
      label={t`Metric`}
      problem={problem}
      isWide
      note={known === undefined ? undefined : t`${known.description}; a ${known.type}, in ${known.unit}`}
    >
      {(aria) => (
        <>
          <input
            {...aria}
            list={listId}
            className={`${FIELD} font-mono`}
            value={draft.metric}
            onChange={(event) => set({ metric: event.target.value })}
          />
          <datalist id={listId}>
            {data?.names.map(({ name, description }) => (
              <option key={name} value={name}>
                {description}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

function ActionFields({ draft, set, problems, hasAction }: FieldsProps & { readonly hasAction: boolean }) {
  const hasTarget = draft.action === "webhook" || draft.action === "function";
  return (
    <>
      <Field label={t`When it fires`}>
        {(aria) => (
          <select
            {...aria}
            className={FIELD}
            value={draft.action}
            onChange={(event) => set({ action: event.target.value as AlertDraft["action"] })}
          >
            {hasAction && <option value="keep">{t`keep the current action`}</option>}
            <option value="log">{t`write a log entry`}</option>
            <option value="webhook">{t`send a webhook`}</option>
            <option value="function">{t`call a function`}</option>
          </select>
        )}
      </Field>
      {hasTarget && (
        <TextField
          label={draft.action === "webhook" ? t`URL` : t`Function ID`}
          field="target"
          {...{ draft, set, problems }}
        />
      )}
    </>
  );
}

function TextField({
  label,
  field,
  draft,
  set,
  problems,
}: FieldsProps & {
  readonly label: string;
  readonly field: "threshold" | "windowSeconds" | "forSeconds" | "cooldownSeconds" | "target";
}) {
  return (
    <Field label={label} problem={problems[field]}>
      {(aria) => (
        <input
          {...aria}
          className={FIELD}
          value={draft[field]}
          onChange={(event) => set({ [field]: event.target.value })}
        />
      )}
    </Field>
  );
}

interface FieldAria {
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
}

function Field({
  label,
  problem,
  note,
  isWide = false,
  children,
}: {
  readonly label: string;
  readonly problem?: string | undefined;
  readonly note?: string | undefined;
  readonly isWide?: boolean;
  readonly children: (aria: FieldAria) => ReactNode;
}) {
  const id = useId();
  const hint = problem ?? note;
  return (
    <div className={isWide ? "flex min-w-0 flex-col gap-1 sm:col-span-2" : "flex min-w-0 flex-col gap-1"}>
      <label htmlFor={id} className="text-ink-2">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": problem !== undefined,
        "aria-describedby": hint === undefined ? undefined : `${id}-hint`,
      })}
      {hint !== undefined && (
        <span
          id={`${id}-hint`}
          className={problem === undefined ? "text-[12px] text-ink-3" : "text-[12px] text-danger"}
        >
          {hint}
        </span>
      )}
    </div>
  );
}
