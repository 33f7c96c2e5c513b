/** What a search has found, as long as it is good. Pure. */
export class Kept<T> {
  private search: Promise<T> | undefined;

  constructor(private readonly find: () => Promise<T>, private readonly isGood: (found: T) => boolean) {}

  /** Searches if nothing is kept that is good. Rejects as the search does, and the next call searches again. */
  async get(): Promise<T> {
    const kept = this.search;
    if (kept) {
      const found = await this.keep(kept);
      if (this.isGood(found)) return found;
      if (this.search === kept) this.search = undefined;
    }
    return this.keep((this.search ??= this.find()));
  }

  forget(): void {
    this.search = undefined;
  }

  private async keep(search: Promise<T>): Promise<T> {
    try {
      return await search;
    } catch (error) {
      if (this.search === search) this.search = undefined;
      throw error;
    }
  }
}
