import { useRouter } from "@tanstack/react-router";
import { useCallback } from "react";
import { t } from "../labels/translate.ts";
import { copyText } from "../lib/clipboard.ts";
import { absoluteSearch, type RangeSearch, shownRange } from "../lib/time-range.ts";
import { toast } from "../ui/toasts.tsx";

/**
 * Returns a function that copies the address of this view. A rolling time range is replaced by its current start and
 * end, so that the link shows the same data later.
 */
export function useCopyLink(): () => void {
  const router = useRouter();
  return useCallback(() => {
    const { pathname, search } = router.state.location;
    const range = shownRange.get();
    const href =
      range === undefined
        ? location.href
        : new URL(
            pathname +
              router.options.stringifySearch(absoluteSearch(search as RangeSearch, range.fallback, Date.now())),
            location.origin,
          ).href;
    copyText(href).then(
      () => toast(t`Link copied`),
      () => toast(t`The browser refused to copy the link: ${href}`),
    );
  }, [router]);
}
