/** Many calls within some time are one. Pure. */
export class Coalesced {
  private timer: NodeJS.Timeout | undefined;

  /** `wait` in milliseconds, from the first call on. */
  constructor(private readonly act: () => void, private readonly wait: number) {}

  call(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.act();
    }, this.wait);
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
