import { t } from "../labels/translate.ts";
/**
 * Copies text, and waits for a promise. Rejects if the browser gives the page no clipboard, as over plain HTTP from
 * another machine.
 */
export async function copyText(text: string | Promise<string>): Promise<void> {
  if ((navigator.clipboard as Clipboard | undefined) === undefined)
    throw new Error(t`this browser gives the page no clipboard`);
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  // Must be requested while the user's click is active.
  const blob = text.then((whole) => new Blob([whole], { type: "text/plain" }));
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
