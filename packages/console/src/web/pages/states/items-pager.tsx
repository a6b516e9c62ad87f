import { getRouteApi } from "@tanstack/react-router";
import { ChevronsLeft } from "lucide-react";
import type { ReactNode } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import type { ItemPage } from "./model.ts";

const route = getRouteApi("/states/{-$group}/{-$key}");

/** Numbers of rows per page. */
const PAGE_SIZES = [50, 100, 500] as const;

/**
 * Moves through the pages of items. The server's cursor can only move forward. To go back, users have the browser's
 * Back button and `First page`.
 */
export function ItemsPager({
  page,
  pending,
  asOf,
}: {
  readonly page: ItemPage | undefined;
  readonly pending: boolean;
  readonly asOf: ReactNode;
}) {
  const { cursor, size = 100 } = route.useSearch();
  const navigate = route.useNavigate();
  const next = page?.cursor ?? null;
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-t bg-surface px-3 py-1 text-[12px] text-ink-2">
      <span>{rich`As of ${asOf}`}</span>
      <span className="flex-1" />
      <label className="flex items-center gap-1">
        {t`Items per page`}
        <select
          value={size}
          onChange={(event) =>
            void navigate({
              search: (before) => ({
                ...before,
                size: PAGE_SIZES.find((each) => each === Number(event.target.value)),
                cursor: undefined,
              }),
            })
          }
          className="h-7 rounded-md border border-line-strong/60 bg-surface px-1"
        >
          {PAGE_SIZES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {cursor !== undefined && (
        <Button
          look="ghost"
          icon={<ChevronsLeft aria-hidden className="size-3.5" />}
          onClick={() => void navigate({ search: (before) => ({ ...before, cursor: undefined }) })}
        >
          {t`First page`}
        </Button>
      )}
      <Button
        disabled={next === null || pending}
        isPending={pending}
        onClick={() => void navigate({ search: (before) => ({ ...before, cursor: next ?? undefined }) })}
      >
        {t`Next page`}
      </Button>
    </div>
  );
}
