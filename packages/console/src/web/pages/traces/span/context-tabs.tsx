import { Link } from "@tanstack/react-router";
import { t } from "../../../labels/translate.ts";
import type { SpanLink } from "../../../model/trace-types.ts";
import { useShown } from "../../../ui/reveal-secrets.tsx";
import { Field, Fields, linkClass } from "./fields.tsx";
import { AttributeValue } from "./tags-tab.tsx";

/** The baggage, which was passed on together with the trace context. */
export function BaggageTab({ baggage }: { readonly baggage: Readonly<Record<string, string>> }) {
  const entries = Object.entries(baggage);
  if (entries.length === 0) return <p className="p-3 text-ink-2">{t`This span has no baggage.`}</p>;
  return (
    <Fields>
      {entries.map(([key, value]) => (
        <BaggageField key={key} name={key} value={value} />
      ))}
    </Fields>
  );
}

function BaggageField({ name, value }: { readonly name: string; readonly value: string }) {
  const { shown } = useShown(name, value);
  return (
    <Field name={name} copy={shown}>
      <span className="font-mono text-[12px]">{shown}</span>
    </Field>
  );
}

/** Links to spans of other traces. */
export function LinksTab({ links }: { readonly links: readonly SpanLink[] }) {
  return (
    <ul className="flex flex-col gap-2 p-3">
      {links.map((link) => (
        <li key={`${link.trace_id} ${link.span_id}`} className="rounded-md border border-line p-2">
          <Link
            to="/traces/{-$traceId}/{-$spanId}"
            params={{ traceId: link.trace_id, spanId: link.span_id }}
            className={`${linkClass} break-all font-mono text-[12px]`}
          >
            {link.trace_id} / {link.span_id}
          </Link>
          {link.attributes.map(([key, text]) => (
            <p key={key} className="text-[12px]">
              <span className="text-ink-3">{key}</span> <AttributeValue name={key} text={text} />
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}
