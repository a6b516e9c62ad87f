import { type ComponentType, lazy } from "react";

/**
 * Like `lazy`, for a part that a page can do without: if its code cannot be loaded, nothing is shown instead of an error
 * in place of the page.
 */
export function lazyExtra<Props>(load: () => Promise<{ readonly default: ComponentType<Props> }>) {
  return lazy(() => load().catch((): { readonly default: ComponentType<Props> } => ({ default: () => null })));
}
