/** The part of VS Code's API that the units under test call. What more a test needs, it sets in here by Object.assign(). */
class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => unknown>();
  readonly event = (listener: (value: T) => unknown): {dispose: () => unknown} => {
    this.listeners.add(listener);
    return {dispose: () => this.listeners.delete(listener)};
  };

  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }

  dispose(): void {
    this.listeners.clear();
  }
}

/** Every setting has its default. */
const settings = {get: (_: string, byDefault: unknown): unknown => byDefault};

const none = (): Promise<undefined> => Promise.resolve(undefined);

export = {
  EventEmitter, StatusBarAlignment: {Left: 1},
  commands: {executeCommand: none},
  debug: {}, env: {},
  window: {showErrorMessage: none, showInformationMessage: none, showWarningMessage: none},
  workspace: {isTrusted: true, getConfiguration: () => settings},
};
