import { type ComponentType, lazy } from "react";

/**
 * Like `lazy`, but for a component that a page can do without. If its code cannot be loaded, nothing is shown. With
 * `lazy`, an error would replace the whole page.
 */
export function lazyExtra<Props>(load: () => Promise<{ readonly default: ComponentType<Props> }>) {
  return lazy(() => load().catch((): { readonly default: ComponentType<Props> } => ({ default: () => null })));
}
