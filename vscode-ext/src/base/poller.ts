/** Asks again and again, one at a time, while somebody looks. */

export class Poller {
  private timer: NodeJS.Timeout | undefined;
  private running = false;
  private again = false;
  private active = false;

  /** `interval` gives milliseconds. What takes long is asked less often. `failed` gets what `ask` rejects with: it is asked again. */
  constructor(private readonly ask: () => Promise<void>, private readonly interval: () => number,
              private readonly failed: (error: unknown) => void) {}

  /** Asks now when it becomes active. */
  set looking(looking: boolean) {
    if (looking === this.active) return;
    this.active = looking;
    if (looking) this.now();
    else clearTimeout(this.timer);
  }

  now(): void {
    clearTimeout(this.timer);
    if (this.running) this.again = true;
    else if (this.active) void this.run();
  }

  private async run(): Promise<void> {
    const start = Date.now();
    this.running = true;
    this.again = false;
    await this.ask().catch(this.failed).finally(() => (this.running = false));
    this.next(Date.now() - start);
  }

  private next(took: number): void {
    if (this.active) this.timer = setTimeout(() => void this.run(), this.again ? 0 : Math.max(this.interval(), 4 * took));
  }
}
