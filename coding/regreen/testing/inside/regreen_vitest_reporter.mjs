// Tells regreen what Vitest runs. Results are taken from Vitest's own state when the run ends, which is alike from
// version 1 to 5; what is told before that is for progress, and for knowing what ran when something crashed.

import { createRequire } from 'node:module';

const { open, relative, name, told, cut, plain } = createRequire(import.meta.url)('./regreen_channel.cjs');

const tell = open() ?? (() => {});
const COVERAGE_GRACE_S = 60; // coverage is written after the results are told

function* testsIn(tasks) {
  for (const task of tasks ?? []) {
    if (task.type === 'suite') yield* testsIn(task.tasks);
    else yield task;
  }
}

function* suitesIn(tasks) {
  for (const task of tasks ?? []) {
    if (task.type !== 'suite') continue;
    yield task;
    yield* suitesIn(task.tasks);
  }
}

function titlesOf(task) {
  const names = [];
  for (let t = task; t && !t.filepath; t = t.suite) if (t.name) names.unshift(t.name);
  return names;
}

function fileOf(task) {
  return relative(task.file?.filepath ?? task.filepath ?? '');
}

function idOf(task) {
  return name(fileOf(task), titlesOf(task));
}

function failure(error) {
  const said = told(error);
  if (error?.stack === undefined && error?.stackStr) said.stack = plain(cut(error.stackStr));
  const parsed = (error?.stacks ?? []).map((s) => `    at ${s.method || '<anonymous>'} (${s.file}:${s.line}:${s.column})`);
  if (parsed.length) said.stack = plain(cut(parsed.join('\n')));
  if (error?.diff) said.compared = plain(cut(String(error.diff)));
  else if (error?.showDiff && error.expected !== undefined) {
    said.compared = plain(cut(`expected: ${error.expected}\nactual: ${error.actual}`));
  }
  return said;
}

export default class RegreenReporter {
  #ctx;
  #over = false;
  #seen = new Map();

  onInit(ctx) {
    this.#ctx = ctx;
    tell({ k: 'hello', version: ctx.version ?? '' });
    process.on('exit', () => this.#exit());
  }

  onCollected(files) {
    this.#collected(files);
  }

  onTaskUpdate(packs) {
    for (const [id, result] of packs) {
      const task = this.#ctx.state.idMap.get(id);
      if (!task || task.type === 'suite' || !result) continue;
      const last = this.#seen.get(id);
      if (last === 'end') continue;
      if (result.state === 'run' && !last) {
        this.#seen.set(id, 'start');
        tell({ k: 'start', id: idOf(task) });
      } else if (result.state === 'pass' || result.state === 'fail') {
        this.#seen.set(id, 'end');
        tell({ k: 'ended', id: idOf(task), outcome: result.state === 'fail' ? 'failed' : 'passed' });
      }
    }
  }

  onFinished(files, errors) {
    this.#end(files, errors);
  }

  onTestRunEnd(_modules, errors) {
    this.#end(this.#ctx.state.getFiles(), errors);
  }

  #collected(files) {
    let total = 0;
    for (const file of files ?? []) for (const _ of testsIn(file.tasks)) total += 1;
    if (total) tell({ k: 'collected', total });
  }

  #end(files, errors) {
    if (this.#over) return;
    this.#over = true;
    const loose = [...(errors ?? []), ...this.#ctx.state.getUnhandledErrors()];
    let bad = false;
    for (const file of files) bad = this.#file(file) || bad;
    for (const error of new Set(loose)) {
      bad = true;
      const test = error?.VITEST_TEST_PATH ? relative(error.VITEST_TEST_PATH) : '';
      tell({ k: 'loose', id: test, file: test, line: 1, during: error?.VITEST_TEST_NAME ?? '', type: error?.type ?? '',
        fail: failure(error) });
    }
    const snapshots = this.#ctx.snapshot?.summary;
    if (snapshots?.unchecked) tell({ k: 'note', text: `${snapshots.unchecked} snapshots are obsolete; none was written` });
    const grace = this.#ctx.config.coverage?.enabled ? { grace_s: COVERAGE_GRACE_S } : {};
    tell({ k: 'finished', status: bad ? 1 : 0, ...grace });
  }

  #file(file) {
    let bad = false;
    const own = file.result?.errors ?? [];
    const tests = [...testsIn(file.tasks)];
    if (own.length && !tests.length) {
      bad = true;
      tell({ k: 'error', id: relative(file.filepath), file: relative(file.filepath), line: 1, fail: failure(own[0]) });
    }
    const hooks = [file, ...suitesIn(file.tasks)].filter((s) => s.result?.errors?.length);
    for (const suite of tests.length ? hooks : []) bad = this.#hook(suite) || bad;
    for (const task of tests) bad = this.#test(task, hooks) || bad;
    return bad;
  }

  // What a hook around tests threw is the error of the tests that could not run because of it, else of the last one.
  #hook(suite) {
    const inside = [...testsIn(suite.tasks)];
    const ran = (t) => ['pass', 'fail'].includes(t.result?.state);
    const unrun = inside.some(ran) ? [] : inside.filter((t) => t.mode !== 'todo');
    for (const task of unrun.length ? unrun : inside.slice(-1)) {
      tell({ k: 'blame', ...this.#place(task), fail: failure(suite.result.errors[0]) });
    }
    return true;
  }

  #place(task) {
    return { id: idOf(task), file: fileOf(task), line: task.location?.line ?? 0 };
  }

  #test(task, hooks) {
    const state = task.result?.state;
    const skipped = task.mode === 'skip' || task.mode === 'todo' || state === 'skip' || state === 'todo';
    if (skipped && this.#filtered(task)) return false;
    const message = { k: 'end', ...this.#place(task), ms: task.result?.duration ?? 0 };
    if (skipped) tell({ ...message, outcome: 'skipped' });
    else if (state === 'fail') tell({ ...message, outcome: 'failed', fail: failure(task.result.errors?.[0]) });
    else if (state === 'pass') tell({ ...message, outcome: task.fails ? 'xfailed' : 'passed' });
    else if (hooks.length) tell({ ...message, outcome: 'error' });
    else tell({ ...message, k: 'lost', started: state === 'run' });
    return state === 'fail';
  }

  #filtered(task) {
    const pattern = this.#ctx.config.testNamePattern;
    if (!pattern) return false;
    const wanted = new RegExp(pattern.source ?? pattern, pattern.flags ?? '');
    const titles = titlesOf(task);
    return !wanted.test(titles.join(' ')) && !wanted.test(titles.join(' > '));
  }

  #exit() {
    if (this.#over) return;
    const nothing = !this.#ctx.state.getFiles().length && !this.#ctx.state.getUnhandledErrors().length;
    tell({ k: nothing ? 'nothing' : 'gone', status: process.exitCode ?? 0 });
  }
}
