'use strict';
// Tells regreen what Jest runs, as one of its reporters: Jest 26 and later.

const { open, relative, name, told, withCauses, cut, plain } = require('./regreen_channel.cjs');

const tell = open() ?? (() => {});
const COVERAGE_GRACE_S = 60; // coverage is written after the results are told
const OUTCOMES = { passed: 'passed', failed: 'failed', pending: 'skipped', skipped: 'skipped', todo: 'skipped',
  disabled: 'skipped' };
const FRAME = /^\s+at .*:\d+:\d+\)?$/m;
const CAUSE = /^\s*\[(?:cause|errors)\]: (.*)$/gm; // how it appends them to the trace
const HEAD = /^(?:thrown: )?([\w$]*(?:Error|Exception|Failure))(?: \[[^\]]*\])?:? ?/;

// What Jest says of a failure is one text: the error as V8 shows it, or a message followed by a trace.
function failure(text, detail) {
  const full = String(text ?? '');
  const appended = full.search(CAUSE);
  const whole = appended < 0 ? full : full.slice(0, appended);
  const lines = [...full.matchAll(CAUSE)].slice(0, 5).map((found) => `cause: ${found[1].slice(0, 500)}`);
  const start = whole.search(FRAME);
  const said = (start < 0 ? whole : whole.slice(0, start)).trim();
  const inner = detail?.name ? detail : detail?.error;
  const match = HEAD.exec(said);
  const asserted = inner?.matcherResult !== undefined || /^(?:Error: )?\S*expect\(/.test(said.replace(/\x1b\[\d+m/g, ''));
  const kind = asserted ? 'AssertionError' : (match?.[1] ?? inner?.name ?? 'Error'); // jest's own is a plain Error
  return {
    kind: plain(String(kind)),
    message: withCauses([plain(cut(match ? said.slice(match[0].length) : said)), ...lines.map(plain)].join('\n'), inner),
    stack: plain(cut(start < 0 ? '' : whole.slice(start))),
  };
}

function idOf(test, result) {
  return name(relative(test.path ?? test), [...(result.ancestorTitles ?? []), result.title]);
}

module.exports = class RegreenReporter {
  constructor(globalConfig) {
    this.config = globalConfig;
    this.bad = false;
    this.over = false;
    this.started = new Set();
  }

  onRunStart() {
    tell({ k: 'hello' });
    process.on('exit', () => {
      if (!this.over) tell({ k: 'gone', status: process.exitCode ?? 0 });
    });
  }

  onTestFileStart(test) {
    tell({ k: 'file', file: relative(test.path) });
  }

  onTestCaseStart(test, start) {
    if (start.mode === 'skip' || start.mode === 'todo') return;
    const id = idOf(test, start);
    this.started.add(id);
    tell({ k: 'start', id });
  }

  onTestCaseResult(test, result) {
    const id = idOf(test, result);
    this.started.delete(id);
    tell({ k: 'ended', id, outcome: OUTCOMES[result.status] ?? 'failed' });
  }

  onTestFileResult(test, result) {
    const file = relative(test.path);
    for (const one of result.testResults) this.one(test, file, one);
    if (result.testExecError || (result.failureMessage && !result.testResults.length)) this.broken(file, result);
    if (result.leaks) tell({ k: 'note', text: `${file} leaks memory` });
  }

  one(test, file, result) {
    if (this.filtered(result)) return;
    const id = idOf(test, result);
    this.started.delete(id);
    const message = { k: 'end', id, file, line: result.location?.line ?? 0, ms: result.duration ?? 0 };
    const outcome = OUTCOMES[result.status] ?? 'failed';
    if (outcome !== 'failed') {
      tell({ ...message, outcome: result.failing && outcome === 'passed' ? 'xfailed' : outcome });
      return;
    }
    this.bad = true;
    tell({ ...message, outcome, fail: failure(result.failureMessages?.[0], result.failureDetails?.[0]) });
  }

  broken(file, result) {
    this.bad = true;
    const error = result.testExecError;
    const trace = error?.stack && !String(error.stack).startsWith(' ') ? error.stack : result.failureMessage;
    const fail = failure(typeof error === 'string' ? error : trace, error);
    if (error?.message && !fail.message) fail.message = plain(cut(String(error.message)));
    const standing = [...this.started].filter((id) => id.startsWith(`${file} > `));
    for (const id of standing) this.started.delete(id);
    tell({ k: 'broken', id: file, file, line: 1, standing, tests: result.testResults.length, fail,
      code: String(error?.code ?? '') });
  }

  // Tests that a name pattern leaves out are told as pending by Jest.
  filtered(result) {
    const pattern = this.config.testNamePattern;
    if (!pattern || result.status !== 'pending') return false;
    return !new RegExp(pattern, 'i').test(result.fullName ?? [...result.ancestorTitles, result.title].join(' '));
  }

  onRunComplete(_contexts, results) {
    this.over = true;
    const { snapshot } = results;
    if (results.runExecError) {
      this.bad = true;
      tell({ k: 'loose', id: 'jest', fail: told(results.runExecError) });
    }
    if (snapshot?.unchecked) tell({ k: 'note', text: `${snapshot.unchecked} snapshots are obsolete; none was written` });
    const bad = this.bad || results.numFailedTests > 0 || results.numRuntimeErrorTestSuites > 0;
    const grace = this.config.collectCoverage ? { grace_s: COVERAGE_GRACE_S } : {};
    tell({ k: 'finished', status: bad ? 1 : 0, files: results.numTotalTestSuites, ...grace });
  }
};
