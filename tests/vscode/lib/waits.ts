/**
 * How these tests wait. What must happen: `until`, or a locator's `waitFor`, which have no time of their own: all end after
 * a minute, times $RAYDBG_TEST_PATIENCE, and only a hang takes so long.
 */
const patience = Math.min(8, Math.max(1, Number(process.env['RAYDBG_TEST_PATIENCE']) || 1));

/** Milliseconds for what must happen. `seconds` is for what takes longer on a quiet machine, or is tried once more if it does. */
export function limit(seconds = 60): number {
  return seconds * 1000 * patience;
}

/** The first true value of `find`. */
export async function until<T>(find: () => T | Promise<T>, what: string, most = limit()): Promise<NonNullable<T>> {
  const end = Date.now() + most;
  for (;;) {
    const found = await find();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${most / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether it comes true in some seconds: for what is tried once more if it does not. */
export async function soon(waiting: (timeout: number) => Promise<unknown>, seconds = 3): Promise<boolean> {
  return waiting(limit(seconds)).then(() => true, () => false);
}
