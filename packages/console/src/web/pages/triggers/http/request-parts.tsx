import { t } from "../../../labels/translate.ts";
import { INPUT } from "../../../ui/input-class.ts";
import { JsonEditor } from "../../../ui/json-editor.tsx";
import type { Auth, BodyKind, HttpDraft } from "./http-request.ts";
import { RowsEditor } from "./rows-editor.tsx";

const BODY_KINDS: readonly { readonly value: BodyKind; readonly label: string }[] = [
  { value: "json", label: t`JSON` },
  { value: "text", label: t`Text` },
  { value: "form", label: t`Form` },
  { value: "none", label: t`None` },
];

export function BodyEditor({
  draft,
  schema,
  onChange,
  onSubmit,
}: {
  readonly draft: HttpDraft;
  readonly schema: unknown;
  readonly onChange: (change: Partial<HttpDraft>) => void;
  readonly onSubmit: () => void;
}) {
  return (
    <div className="flex flex-col gap-1">
      <label className="flex items-center gap-2">
        <span className="font-medium text-ink-2">{t`Body`}</span>
        <select
          className={INPUT}
          value={draft.bodyKind}
          onChange={(event) => onChange({ bodyKind: event.target.value as BodyKind })}
        >
          {BODY_KINDS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {draft.bodyKind === "json" && (
        <JsonEditor
          label={t`JSON body`}
          value={draft.body}
          schema={schema}
          onChange={(body) => onChange({ body })}
          onSubmit={onSubmit}
          className="max-h-[40vh] min-h-20"
        />
      )}
      {draft.bodyKind === "text" && (
        <textarea
          aria-label={t`Text body`}
          className="min-h-20 rounded-md border border-line-strong/60 bg-surface p-2 font-mono text-[12px]"
          value={draft.body}
          spellCheck={false}
          onChange={(event) => onChange({ body: event.target.value })}
        />
      )}
      {draft.bodyKind === "form" && (
        <RowsEditor title={t`Fields`} what={t`field`} rows={draft.form} onChange={(form) => onChange({ form })} />
      )}
    </div>
  );
}

/** Edits the `authorization` header. The credentials are never stored. */
export function AuthEditor({ auth, onChange }: { readonly auth: Auth; readonly onChange: (auth: Auth) => void }) {
  const first: Readonly<Record<Auth["kind"], Auth>> = {
    none: { kind: "none" },
    bearer: { kind: "bearer", token: "" },
    basic: { kind: "basic", user: "", password: "" },
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <label className="flex items-center gap-2">
        <span className="font-medium text-ink-2">{t`Authorization`}</span>
        <select
          className={INPUT}
          value={auth.kind}
          onChange={(event) => onChange(first[event.target.value as Auth["kind"]])}
        >
          <option value="none">{t`None`}</option>
          <option value="bearer">{t`Bearer token`}</option>
          <option value="basic">{t`Basic`}</option>
        </select>
      </label>
      {auth.kind === "bearer" && (
        <input
          type="password"
          autoComplete="off"
          aria-label={t`Token`}
          placeholder={t`token`}
          className={`${INPUT} min-w-0 flex-1`}
          value={auth.token}
          onChange={(event) => onChange({ ...auth, token: event.target.value })}
        />
      )}
      {auth.kind === "basic" && (
        <>
          <input
            aria-label={t`User`}
            placeholder={t`user`}
            autoComplete="off"
            className={`${INPUT} w-32 min-w-0 flex-1`}
            value={auth.user}
            onChange={(event) => onChange({ ...auth, user: event.target.value })}
          />
          <input
            type="password"
            autoComplete="off"
            aria-label={t`Password`}
            placeholder={t`password`}
            className={`${INPUT} w-32 min-w-0 flex-1`}
            value={auth.password}
            onChange={(event) => onChange({ ...auth, password: event.target.value })}
          />
        </>
      )}
    </div>
  );
}
