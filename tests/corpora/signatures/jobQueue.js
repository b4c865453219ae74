#!/usr/bin/env node
'use strict';

/* A queue of jobs. */
const fs = require('fs');
const { join, resolve: absolute, sep = '/' } = require('path');
var self = this, timers = {}, done;
let counter = 0;
const PATTERN = /function fake\(\) \{/g;
const [first, second] = process.argv;

if (typeof window === 'undefined') {
  var isNode = true;
  function detect() { return isNode; }
}

// What a job may be.
// More about it.
function createJob(name, { retries = 3, delay = { min: 1 } } = {}, ...rest) {
  const id = counter++;
  const stop = () => clearTimeout(timers[id]);
  class LocalError extends Error {}
  function run(callback = function () { return '}'; }) {
    return callback(id);
  }
  return { id, stop, run };
}

async function drain(
  queue, // the queue
  /* how long */ timeout,
) {}
function* ids(n) { yield n; }
async function* stream() {}

const sleep = ms => new Promise(r => setTimeout(r, ms));
const twice = async (f, x = (1, 2)) => f(f(x));
var legacy = function legacyName(a, b) { return a + b; };
const Stack = class extends Array { peek() { return this[this.length - 1]; } };

/**
 * Runs jobs.
 * @class
 */
class Queue extends mixin(EventEmitter, Base) {
  static LIMIT = 100;
  static async = true;
  #jobs = [];
  size;
  onDone = (job) => { this.emit('done', job); };
  onFail = async function (error) {};

  static { const setup = 1; }

  constructor(options = {}) {
    super();
    this.options = options;
    this.later = function () {};
  }
  get length() { return this.#jobs.length; }
  set length(n) { this.#jobs.length = n; }
  /** Adds one. */
  async add(job, { front } = {}) { return front; }
  static of(...jobs) { return new Queue(jobs); }
  *[Symbol.iterator]() { yield* this.#jobs; }
  #grow(by) {}
  'quoted name'() {}
  async *results() {}
}

const handlers = {
  start(job) {},
  async stop(job) {},
  fail: (job, error) => { throw error; },
  'retry all': function (jobs) {},
  state: 'idle',
};
const limits = { high: 10, low: 1 };
const long = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

(function () {
  var hidden = 1;
  function shown(x) { return x + hidden; }
})();

Queue.prototype.flush = function flush(force) {};
Queue.create = function (options) { return new Queue(options); };
process.onexit = () => {};
exports.VERSION = '2.0';
exports.createJob = createJob;
exports.parse = function (text, options) { return text; };
module.exports.stringify = (value) => String(value);
module.exports = class Runner extends Queue { run() {} };
module.exports = { drain, close() {}, reopen: async () => {} };
export default { name: 'queue', data() { return {}; }, methods: { push(job) {}, pop: function () {} } };
