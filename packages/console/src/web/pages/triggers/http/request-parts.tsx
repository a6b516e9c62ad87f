import { INPUT } from "../../../ui/input-class.ts";
import { JsonEditor } from "../../../ui/json-editor.tsx";
import type { Auth, BodyKind, HttpDraft } from "./http-request.ts";
import { RowsEditor } from "./rows-editor.tsx";

const BODY_KINDS: readonly { readonly value: BodyKind; readonly label: string }[] = [
  { value: "json", label: "JSON" },
  { value: "text", label: "Text" },
  { value: "form", label: "Form" },
  { value: "none", label: "None" },
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
        <span className="font-medium text-ink-2">Body</span>
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
          label="JSON body"
          value={draft.body}
          schema={schema}
          onChange={(body) => onChange({ body })}
          onSubmit={onSubmit}
          className="max-h-[40vh] min-h-20"
        />
      )}
      {draft.bodyKind === "text" && (
        <textarea
          aria-label="Text body"
          className="min-h-20 rounded-md border border-line-strong/60 bg-surface p-2 font-mono text-[12px]"
          value={draft.body}
          spellCheck={false}
          onChange={(event) => onChange({ body: event.target.value })}
        />
      )}
      {draft.bodyKind === "form" && (
        <RowsEditor title="Fields" what="field" rows={draft.form} onChange={(form) => onChange({ form })} />
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
        <span className="font-medium text-ink-2">Authorization</span>
        <select
          className={INPUT}
          value={auth.kind}
          onChange={(event) => onChange(first[event.target.value as Auth["kind"]])}
        >
          <option value="none">None</option>
          <option value="bearer">Bearer token</option>
          <option value="basic">Basic</option>
        </select>
      </label>
      {auth.kind === "bearer" && (
        <input
          type="password"
          autoComplete="off"
          aria-label="Token"
          placeholder="token"
          className={`${INPUT} min-w-0 flex-1`}
          value={auth.token}
          onChange={(event) => onChange({ ...auth, token: event.target.value })}
        />
      )}
      {auth.kind === "basic" && (
        <>
          <input
            aria-label="User"
            placeholder="user"
            autoComplete="off"
            className={`${INPUT} w-32 min-w-0 flex-1`}
            value={auth.user}
            onChange={(event) => onChange({ ...auth, user: event.target.value })}
          />
          <input
            type="password"
            autoComplete="off"
            aria-label="Password"
            placeholder="password"
            className={`${INPUT} w-32 min-w-0 flex-1`}
            value={auth.password}
            onChange={(event) => onChange({ ...auth, password: event.target.value })}
          />
        </>
      )}
    </div>
  );
}
