/** Texts for VS Code's notifications. Pure. */

/** VS Code takes "[text](command:…)" in a notification for a link that runs the command, and a task's name or an exception's text may hold one. */
export function plain(text: string): string {
  return text.replaceAll('](', ']\u200b(');
}
