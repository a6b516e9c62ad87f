import { t } from "../labels/translate.ts";
import { serviceColor } from "../lib/service-colors.ts";
import { cn } from "./cn.ts";

/** A square in the colour of a service. The name of the service is shown beside it. */
export function ServiceSwatch({ service, className }: { readonly service: string; readonly className?: string }) {
  return (
    <span
      aria-hidden
      className={cn("inline-block size-2.5 shrink-0 rounded-sm", className)}
      style={{ background: serviceColor(service) }}
    />
  );
}

/** Legend with the colours of services in a chart, and the colour of errors. */
export function ServiceLegend({ services }: { readonly services: readonly string[] }) {
  return (
    <ul aria-label={t`Colours`} className="flex flex-wrap gap-x-4 gap-y-1 px-3 py-1 text-[12px] text-ink-2">
      {services.map((service) => (
        <li key={service} className="flex min-w-0 items-center gap-1.5">
          <ServiceSwatch service={service} />
          <span className="truncate">{service}</span>
        </li>
      ))}
      <li className="flex items-center gap-1.5">
        <span aria-hidden className="size-2.5 rounded-sm bg-danger" />
        {t`failed span`}
      </li>
    </ul>
  );
}
