'use strict';
// The private channel from a test runner's process to regreen: JSON lines that carry this run's nonce.
//
// Everything that is used later is taken hold of now, before any code of the project runs: tests that replace
// `fs.writeSync` or `JSON.stringify` do not change what is told. The nonce is known to `tell` alone.

const fs = require('fs');
const path = require('path');

const { readSync, writeSync, realpathSync } = fs;
const { stringify } = JSON;
const { wait } = Atomics;
const LIMIT = 64 * 1024; // characters of one text

function readLine(fd) {
  const byte = Buffer.alloc(1);
  let line = '';
  for (;;) {
    let count = 0;
    try {
      count = readSync(fd, byte, 0, 1, null);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      pause();
      continue;
    }
    if (count === 0 || byte[0] === 10) return line;
    line += String.fromCharCode(byte[0]);
  }
}

function pause() {
  wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}

function writeAll(fd, text) {
  const data = Buffer.from(text, 'utf8');
  let done = 0;
  while (done < data.length) {
    try {
      done += writeSync(fd, data, done, data.length - done);
    } catch (error) {
      if (error.code !== 'EAGAIN') return; // nobody listens any more
      pause();
    }
  }
}

let kept = null;

// The channel, as a function that tells one message; null where this process was not given one. It is handed out once,
// and with `again` once more: nothing that is loaded later can ask for it.
function open({ again = false } = {}) {
  const tell = kept ?? connect();
  kept = again ? tell : null;
  return tell;
}

function connect() {
  const fd = Number(process.env.REGREEN_CHANNEL);
  delete process.env.REGREEN_CHANNEL;
  if (!Number.isInteger(fd) || fd < 3) return null;
  const nonce = readLine(fd);
  return (message) => writeAll(fd, `${stringify({ n: nonce, ...message })}\n`);
}

const base = process.cwd();
const realBase = realpathSync(base);

// A file as ids have it: relative to the project's folder, with forward slashes.
function relative(file) {
  if (!file) return '';
  let plain = file.startsWith('file:') ? require('url').fileURLToPath(file) : file;
  if (!path.isAbsolute(plain)) plain = path.join(base, plain);
  for (const from of [base, realBase]) {
    const found = path.relative(from, plain);
    if (found && !found.startsWith('..') && !path.isAbsolute(found)) return found.split(path.sep).join('/');
  }
  return plain;
}

function cut(text) {
  const all = typeof text === 'string' ? text : String(text);
  return all.length > LIMIT ? `${all.slice(0, LIMIT)} [${all.length - LIMIT} characters left out]` : all;
}

function plain(text) {
  return text.toWellFormed ? text.toWellFormed() : text;
}

// The id of a test: `file > describe > title`, each on one line.
function name(file, titles) {
  return plain([file, ...titles].map((t) => String(t).replace(/\s*[\r\n]+\s*/g, ' ')).join(' > '));
}

// What stands behind an error: `fetch failed` says nothing, its cause does.
function causes(error) {
  const lines = [];
  try {
    for (let e = error?.cause, depth = 0; e !== undefined && e !== null && depth < 5; e = e.cause, depth += 1) {
      const several = Array.isArray(e.errors) ? e.errors.slice(0, 4).map(shown) : []; // of an AggregateError
      const own = typeof e === 'object' && !e.message && several.length ? [] : [shown(e)];
      lines.push(...[...own, ...several].map((line) => `cause: ${line}`));
      if (typeof e !== 'object') break;
    }
  } catch {
    // What cannot be shown is left out.
  }
  return [...new Set(lines)];
}

function shown(error) {
  if (error === null || typeof error !== 'object') return plain(String(error).slice(0, 500));
  return plain(`${error.name || 'Error'}: ${String(error.message || error.code || '').slice(0, 500)}`);
}

function withCauses(message, error) {
  return [message, ...causes(error).filter((line) => !message.includes(line))].join('\n');
}

// What an error says of itself, whatever was thrown.
function told(error) {
  try {
    if (error === null || typeof error !== 'object') return { kind: 'Error', message: cut(String(error)), stack: '' };
    const named = error instanceof Error || !/^\w+(?=:| \[)/.test(error.stack ?? '') ? '' : /^\w+/.exec(error.stack)[0];
    const kind = String(named || error.name || (error.constructor && error.constructor.name) || 'Error');
    const code = error.code && typeof error.code === 'string' ? error.code : '';
    return {
      kind: plain(kind),
      code,
      message: withCauses(plain(cut(String(error.message ?? error))), error),
      stack: plain(cut(String(error.stack ?? ''))),
    };
  } catch {
    return { kind: 'Error', message: 'an error that cannot be shown', stack: '' };
  }
}

module.exports = { open, relative, name, told, withCauses, cut, plain };
