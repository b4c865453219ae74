'use strict';
// Required by Mocha before the test files: tells that Mocha has started, and whether it ended while it loaded them.
// (Mocha makes its reporter only when all files are loaded.)

const { open } = require('./regreen_channel.cjs');

const tell = open({ again: true }) ?? (() => {});
const worker = process.env.MOCHA_WORKER_ID !== undefined;

if (!worker) {
  tell({ k: 'loading' });
  // The functions that tests are written with are there from the first test file on.
  process.on('exit', (status) => tell({ k: 'exit', status, files: Boolean(globalThis.describe ?? globalThis.suite) }));
}
