'use strict';
// Loaded first into `node --test` and each of its test processes: how a test process ends.
//
// A test file that calls `process.exit(0)` looks to Node's runner like a file that passed. So a process tells here, in
// a file beside this one, when it starts, what error ended it, and whether it came to its end by itself.

const { appendFileSync, realpathSync } = require('fs');
const { join } = require('path');
const { pathToFileURL } = require('url');

const { stringify } = JSON;
const { told } = require('./regreen_channel.cjs');
const file = process.argv[1] || '';
const notes = join(__dirname, 'processes.jsonl');

function note(message) {
  try {
    appendFileSync(notes, `${stringify({ pid: process.pid, file, ...message })}\n`);
  } catch {
    // A process that may not write there is not judged by it: its start was not told either.
  }
}

// Whether the test file's own top level has run to its end; undefined where that cannot be told.
let evaluated;
let left = ''; // the frame that called process.exit

function follow() {
  const options = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS || ''}`;
  if (process.mainModule !== undefined || /--(?:import|loader|experimental-loader)\b/.test(options)) return;
  let url;
  try {
    url = pathToFileURL(realpathSync(file)).href;
  } catch {
    return;
  }
  evaluated = false;
  const settled = () => {
    evaluated = true;
  };
  import(url).then(settled, settled); // the module that runs already, not another one
}

function watchExit() {
  const { exit } = process;
  process.exit = function (...words) {
    if (!left) left = (new Error().stack || '').split('\n').slice(2, 3).join('').trim();
    return Reflect.apply(exit, this, words);
  };
}

if ((process.env.NODE_TEST_CONTEXT || '').startsWith('child')) {
  let natural = false;
  note({ k: 'start' });
  process.on('beforeExit', () => {
    natural = true;
  });
  process.on('uncaughtExceptionMonitor', (error) => note({ k: 'uncaught', fail: told(error) }));
  watchExit();
  setImmediate(follow);
  process.on('exit', (status) => {
    const loaded = process.mainModule === undefined ? evaluated : process.mainModule.loaded;
    note({ k: natural ? 'natural' : 'exit', status, evaluated: loaded, left });
  });
}
