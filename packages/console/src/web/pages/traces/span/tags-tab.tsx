import { isSecretName } from "@svc-runtime/protocol/secrets";
import { Link } from "@tanstack/react-router";
import { CircleMinus, CirclePlus } from "lucide-react";
import { useState } from "react";
import { t } from "../../../labels/translate.ts";
import { attrParam } from "../../../lib/attr-param.ts";
import { bytes } from "../../../lib/time.ts";
import type { Attribute, StoredSpan } from "../../../model/trace-types.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { JsonView } from "../../../ui/json-view.tsx";
import { useShown } from "../../../ui/reveal-secrets.tsx";
import { SearchBox } from "../../../ui/search-box.tsx";

/** Maximum length of JSON that is shown as text, in characters. Longer JSON is shown as a tree. */
const MAX_INLINE = 120;
/** Maximum length of a text that is shown, in characters. */
const MAX_SHOWN = 16_384;

/** The attributes of the span and of its resource. */
export function TagsTab({ span }: { readonly span: StoredSpan }) {
  const [q, setQ] = useState("");
  const words = q.toLowerCase();
  const isWanted = ([key, text]: Attribute): boolean => `${key}=${text}`.toLowerCase().includes(words);
  const own = span.attributes.filter(isWanted);
  const resource = Object.entries(span.resource)
    .map(([key, value]): Attribute => [key, typeof value === "string" ? value : JSON.stringify(value)])
    .filter(isWanted);
  return (
    <div className="flex flex-col gap-2 p-3">
      <SearchBox label={t`Search tags`} value={q} onChange={setQ} hotkey={undefined} />
      <AttributeList
        title={t`Attributes`}
        attributes={own}
        prefix="attr."
        nothing={q === "" ? t`This span has no attributes.` : t`No attribute matches.`}
      />
      <AttributeList
        title={t`Resource`}
        attributes={resource}
        prefix="resource."
        nothing={q === "" ? t`This span has no resource attributes.` : t`No resource attribute matches.`}
      />
    </div>
  );
}

function AttributeList({
  title,
  attributes,
  prefix,
  nothing,
}: {
  readonly title: string;
  readonly attributes: readonly Attribute[];
  readonly prefix: string;
  readonly nothing: string;
}) {
  return (
    <section>
      <h3 className="mb-1 font-medium text-[12px] text-ink-3">{title}</h3>
      {attributes.length === 0 && <p className="text-ink-2">{nothing}</p>}
      <ul className="flex flex-col divide-y divide-line/60">
        {attributes.map(([key, text]) => (
          <AttributeItem key={key} name={key} text={text} field={`${prefix}${key}`} />
        ))}
      </ul>
    </section>
  );
}

/**
 * An attribute. If it is a masked secret, it has no filter links, because they would put the value into the address.
 */
function AttributeItem({
  name,
  text,
  field,
}: {
  readonly name: string;
  readonly text: string;
  readonly field: string;
}) {
  const { shown, isMasked } = useShown(name, text);
  return (
    <li className="flex items-start gap-2 py-1">
      <div className="grid min-w-0 flex-1 grid-cols-1 gap-x-3 sm:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
        <span className="break-words pt-0.5 text-ink-2">{name}</span>
        <AttributeValue name={name} text={text} />
      </div>
      <span className="flex shrink-0">
        {!isMasked && (
          <>
            <FilterLink
              label={t`Traces where ${name} is this`}
              param={attrParam(termOf(field, text, false))}
              icon={<CirclePlus aria-hidden className="size-3.5" />}
            />
            <FilterLink
              label={t`Traces where ${name} is not this`}
              param={attrParam(termOf(field, text, true))}
              icon={<CircleMinus aria-hidden className="size-3.5" />}
            />
          </>
        )}
        <CopyButton text={shown} label={t`Copy ${name}`} className="size-6" />
      </span>
    </li>
  );
}

function termOf(field: string, value: string, negated: boolean) {
  return { kind: "field", field, op: "equals", value, negated, off: false } as const;
}

function FilterLink({
  label,
  param,
  icon,
}: {
  readonly label: string;
  readonly param: string;
  readonly icon: React.ReactNode;
}) {
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={{ traceId: undefined, spanId: undefined }}
      search={{ attr: [param] }}
      aria-label={label}
      title={label}
      className="flex size-6 items-center justify-center rounded text-ink-3 hover:bg-hover hover:text-ink"
    >
      {icon}
    </Link>
  );
}

/** Shows a value as text; if it is long JSON, as a tree. Secrets are masked until the user reveals them. */
export function AttributeValue({ name, text }: { readonly name: string; readonly text: string }) {
  const { shown, isRevealed } = useShown(name, text);
  const isFullyMasked = !isRevealed && isSecretName(name);
  if (!isFullyMasked && text.length > MAX_INLINE && /^\s*[[{]/.test(text))
    return <JsonView text={text} name={name} openTo={1} isPlain={isRevealed} />;
  return (
    <span className="whitespace-pre-wrap break-words pt-0.5 font-mono text-[12px]">
      {text === "" ? (
        <span className="text-ink-3">{t`(empty)`}</span>
      ) : shown.length > MAX_SHOWN ? (
        t`${shown.slice(0, MAX_SHOWN)}… (${bytes(shown.length)}; copy it to get the full value)`
      ) : (
        shown
      )}
    </span>
  );
}
