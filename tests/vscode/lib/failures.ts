/** A reporter of node:test: a line of JSON for each test that failed, with its name and what went wrong. */
import {stripVTControlCharacters} from 'node:util';
import type {TestEvent} from 'node:test/reporters';

export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const {type, data} of events) {
    if (type !== 'test:fail') continue;
    const {error} = data.details;
    const {message} = error.cause instanceof Error ? error.cause : error;
    yield `${JSON.stringify({name: data.name, message: stripVTControlCharacters(message).replaceAll(/\s+/g, ' ').trim()})}\n`;
  }
}
