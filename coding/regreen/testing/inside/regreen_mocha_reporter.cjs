'use strict';
// Tells regreen what Mocha runs, as its reporter, and hands everything on to Mocha's own `spec` for the log.
// Written for Mocha 8 and later, in one process or several (`--parallel`).

const { open, relative, name, told, cut, plain } = require('./regreen_channel.cjs');

const tell = open() ?? (() => {});
const HOOK = /^"(before all|before each|after all|after each)" hook/;

function titlesOf(test) {
  if (test.titlePath) return test.titlePath();
  return [test.fullTitle ? test.fullTitle() : String(test.title ?? '')];
}

function fileOf(test) {
  for (let t = test; t; t = t.parent) if (t.file) return relative(t.file);
  return '';
}

function failure(error) {
  const said = told(error);
  const shown = error?.actual !== undefined && error?.showDiff !== false && error?.generatedMessage !== true;
  if (shown && 'expected' in error) said.compared = plain(cut(`expected: ${short(error.expected)}\nactual: ${short(error.actual)}`));
  return said;
}

function short(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 400 ? `${text.slice(0, 400)} ...` : text;
}

function testsIn(suite) {
  return [...(suite?.tests ?? []), ...(suite?.suites ?? []).flatMap(testsIn)];
}

module.exports = class RegreenReporter {
  constructor(runner, options) {
    this.ended = new Map(); // id -> the message of its end
    this.last = null;
    this.over = false;
    let bad = 0;
    const id = (test) => name(fileOf(test) || 'mocha', titlesOf(test));

    tell({ k: 'hello' });
    tell({ k: 'collected', total: runner.total });
    const end = (test, outcome, error) => {
      this.last = test;
      const fail = error === undefined ? undefined : failure(error);
      tell({ k: 'end', id: id(test), file: fileOf(test), ms: test.duration ?? 0, outcome, fail });
    };
    runner.on('test', (test) => tell({ k: 'start', id: id(test) }));
    runner.on('pass', (test) => end(test, 'passed'));
    runner.on('pending', (test) => end(test, 'skipped'));
    runner.on('fail', (test, error) => {
      bad += 1;
      if (test.type === 'hook' || HOOK.test(test.title ?? '')) this.hook(test, error ?? null, id);
      else end(test, 'failed', error ?? null);
    });
    runner.once('end', () => {
      this.over = true;
      tell({ k: 'finished', status: bad ? 1 : 0 });
    });
    this.log(runner, options);
  }

  // A hook's error is that of the tests that could not run because of it, else of the one that it followed.
  hook(hook, error, id) {
    const kind = HOOK.exec(hook.title ?? '')?.[1] ?? '';
    const current = hook.ctx?.currentTest?.titlePath ? hook.ctx.currentTest : null; // not there in parallel runs
    const inside = testsIn(hook.parent);
    let meant = [];
    if (kind.endsWith('each') && current) meant = [current];
    else if (kind === 'before all') meant = inside.filter((t) => !t.pending);
    else if (inside.length) meant = inside.slice(-1);
    if (kind === 'before each' && current) {
      const from = inside.indexOf(current);
      if (from >= 0) meant = inside.slice(from).filter((t) => !t.pending && !t.state);
      if (!meant.includes(current)) meant.unshift(current);
    }
    const fail = failure(error);
    if (!meant.length) {
      const file = fileOf(hook) || 'mocha';
      tell({ k: 'end', id: name(file, titlesOf(hook)), file, line: 1, outcome: 'error', fail });
    }
    for (const test of meant) {
      const run = test.state === 'passed' || test.state === 'failed';
      if (!run) tell({ k: 'end', id: id(test), file: fileOf(test), ms: 0, outcome: 'error', fail });
      else tell({ k: 'blame', id: id(test), file: fileOf(test), fail });
    }
  }

  log(runner, options) {
    try {
      const { Spec } = require(process.env.REGREEN_MOCHA).reporters;
      delete process.env.REGREEN_MOCHA;
      this.spec = new Spec(runner, options);
    } catch {
      // Without it the log has less to read; nothing is judged by it.
    }
  }
};
