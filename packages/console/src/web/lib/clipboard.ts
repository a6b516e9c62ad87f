import { t } from "../labels/translate.ts";
/**
 * Copies a text or the result of a promise. Rejects if the page has no access to the clipboard, which is so over plain
 * HTTP from another machine.
 */
export async function copyText(text: string | Promise<string>): Promise<void> {
  if ((navigator.clipboard as Clipboard | undefined) === undefined)
    throw new Error(t`this browser gives the page no clipboard`);
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  // The clipboard must be requested before the promise resolves, while the user's click still counts.
  const blob = text.then((whole) => new Blob([whole], { type: "text/plain" }));
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
