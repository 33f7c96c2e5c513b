/** Questions of which only the answer to the latest counts, until nobody waits for one. Pure. */
export class Turns {
  private latest = 0;
  private over = false;

  get ended(): boolean {
    return this.over;
  }

  /** Says of the question that begins now whether its answer still counts. */
  take(): () => boolean {
    const turn = ++this.latest;
    return () => turn === this.latest && !this.over;
  }

  end(): void {
    this.over = true;
  }
}
