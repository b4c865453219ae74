// Tells regreen what `node --test` runs. Written for the reports of Node 18.15 and later.
//
// Events about what runs now (enqueue, dequeue, complete) and events of results in order (start, pass, fail) are two
// streams: the first may mix the files that run at once, the second goes through one file after the other.

import { createRequire } from 'node:module';
import { isAbsolute, resolve } from 'node:path';

const { open, relative, name, told, cut, plain } = createRequire(import.meta.url)('./regreen_channel.cjs');

const tell = open() ?? (() => {});
const QUIET_MS = 5000; // a test process whose tests are all done and that is quiet so long is ended
const FILTERED = 'test name does not match pattern';
const INNER = new Set(['subtestsFailed']);

const files = new Map(); // by relative path, in the order in which they were found
let current = ''; // the file that results are told of
const above = []; // names of the tests that results are told inside of

function fileOf(data) {
  // A file is a test of its own to the runner: its name is its path.
  if (data.nesting !== 0 || !data.name || !data.file) return null;
  const named = isAbsolute(data.name) ? data.name : resolve(data.name);
  const path = relative(data.file);
  if (data.line !== undefined && data.line !== 1) return null;
  return relative(named) === path && (files.has(path) || /\.[cm]?[jt]sx?$/.test(path)) ? path : null;
}

function add(path) {
  if (!files.has(path)) {
    files.set(path, { running: false, waiting: 0, done: 0, seen: 0, at: Date.now(), known: new Map(), stack: [],
      stderr: '', lingering: false });
  }
  return files.get(path);
}

// The test file that an event belongs to: tests may be written in a file that test files share.
function owner(data) {
  const path = data.file ? relative(data.file) : current;
  if (files.has(path)) return path;
  const running = [...files].filter(([, state]) => state.running).map(([key]) => key);
  return running.length === 1 ? running[0] : current || running[0] || path;
}

function titles(state, data) {
  if (data.testId === undefined) {
    state.stack.length = data.nesting;
    return [...state.stack, data.name];
  }
  const names = [data.name];
  for (let id = data.parentId; id && state.known.has(id); id = state.known.get(id).parent) {
    names.unshift(state.known.get(id).name);
  }
  return names;
}

function enqueue(data) {
  const path = fileOf(data);
  if (path !== null) {
    add(path);
    return;
  }
  const state = add(owner(data));
  state.waiting += 1;
  state.at = Date.now();
  if (data.testId !== undefined) state.known.set(data.testId, { name: data.name, parent: data.parentId });
}

function dequeue(data) {
  const path = fileOf(data);
  if (path !== null) {
    add(path).running = true;
    return;
  }
  const file = owner(data);
  const state = add(file);
  state.at = Date.now();
  const names = titles(state, data);
  state.stack[data.nesting] = data.name;
  if (data.type !== 'suite') tell({ k: 'start', id: name(file, names) });
}

function complete(data) {
  const path = fileOf(data);
  if (path !== null) {
    add(path).running = false;
    return;
  }
  const file = owner(data);
  const state = add(file);
  state.done += 1;
  state.at = Date.now();
  tell({ k: 'ended', id: name(file, titles(state, data)) });
}

function outcome(data, passed) {
  if (data.skip !== undefined && data.skip !== false) return 'skipped';
  if (data.todo !== undefined && data.todo !== false) return passed ? 'skipped' : 'xfailed';
  return passed ? 'passed' : 'failed';
}

function failure(error) {
  // Node wraps what a test threw; a hook's error is named as such.
  const type = error?.failureType ?? '';
  const cause = error?.cause !== undefined && error?.code === 'ERR_TEST_FAILURE' ? error.cause : error;
  return { ...told(cause), type, compared: compared(cause) };
}

function compared(error) {
  if (!error || error.code !== 'ERR_ASSERTION' || error.generatedMessage || !('expected' in error)) return '';
  try {
    return `expected: ${cut(short(error.expected))}\nactual: ${cut(short(error.actual))}`;
  } catch {
    return '';
  }
}

function short(value) {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 400 ? `${text.slice(0, 400)} ...` : text;
}

function result(data, passed) {
  if (data.skip === FILTERED) return;
  const path = fileOf(data);
  if (path !== null) {
    fileResult(path, data, passed);
    return;
  }
  if (data.file && files.has(relative(data.file))) current = relative(data.file);
  const file = owner(data);
  const state = add(file);
  const names = [...above.slice(0, data.nesting), data.name];
  const error = data.details?.error;
  const suite = data.details?.type === 'suite';
  state.seen += 1;
  const message = {
    id: name(file, names),
    file: data.file ? relative(data.file) : file,
    line: data.line ?? 0,
    ms: data.details?.duration_ms ?? 0,
  };
  if (suite) {
    if (!passed && !INNER.has(error?.failureType)) tell({ k: 'suite', ...message, fail: failure(error) });
    return;
  }
  const inner = !passed && INNER.has(error?.failureType);
  tell({ k: 'end', ...message, outcome: outcome(data, passed), inner, fail: passed ? undefined : failure(error) });
}

function fileResult(path, data, passed) {
  const state = add(path);
  current = path;
  const error = data.details?.error;
  const why = passed ? {} : { exit: error?.exitCode ?? null, signal: error?.signal ?? '', fail: failure(error) };
  tell({ k: 'file', file: path, passed, tests: state.seen, output: state.stderr, lingering: state.lingering, ...why });
}

// Test processes that have nothing left to do but are kept alive by something, a timer or a server, are ended.
function endLingering() {
  for (const [path, state] of files) {
    const idle = state.running && state.waiting > 0 && state.waiting === state.done;
    if (!idle || state.lingering || Date.now() - state.at < QUIET_MS) continue;
    for (const handle of process._getActiveHandles?.() ?? []) {
      if (!handle.spawnargs || !handle.kill) continue;
      if (handle.spawnargs.some((word) => word === path || relative(word) === path)) {
        state.lingering = true;
        tell({ k: 'lingering', file: path });
        handle.kill('SIGKILL');
      }
    }
  }
}

const KINDS = {
  'test:enqueue': enqueue,
  'test:dequeue': dequeue,
  'test:complete': complete,
  'test:start': (data) => {
    above.length = data.nesting;
    above[data.nesting] = data.name;
    if (data.file && files.has(relative(data.file)) && fileOf(data) === null) current = relative(data.file);
  },
  'test:pass': (data) => result(data, true),
  'test:fail': (data) => result(data, false),
  'test:stderr': (data) => {
    if (!data.file) return;
    const state = add(relative(data.file));
    state.at = Date.now();
    if (state.stderr.length < 8000) state.stderr = plain(state.stderr + cut(data.message));
  },
  'test:stdout': (data) => {
    if (data.file && files.has(relative(data.file))) files.get(relative(data.file)).at = Date.now();
  },
};

export default async function* report(source) {
  tell({ k: 'hello', version: process.versions.node });
  setInterval(endLingering, 250).unref();
  for await (const { type, data } of source) KINDS[type]?.(data);
  for (const [file, { waiting, done, lingering }] of files) tell({ k: 'process', file, waiting, done, lingering });
  tell({ k: 'done' });
  yield '';
}
