'use strict';
// Loaded first into `node --test` and each of its test processes: how a test process ends.
//
// A test file that calls `process.exit(0)` looks to Node's runner like a file that passed. So a process tells here, in
// a file beside this one, when it starts, what error ended it, and whether it came to its end by itself.

const { appendFileSync } = require('fs');
const { join } = require('path');

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

if ((process.env.NODE_TEST_CONTEXT || '').startsWith('child')) {
  let natural = false;
  note({ k: 'start' });
  process.on('beforeExit', () => {
    natural = true;
  });
  process.on('uncaughtExceptionMonitor', (error) => note({ k: 'uncaught', fail: told(error) }));
  process.on('exit', (status) => note({ k: natural ? 'natural' : 'exit', status }));
}
