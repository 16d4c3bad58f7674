// The table of cases, and how what was written is compared with what is read back.
'use strict';

const fs = require('node:fs');
const moment = require('moment');

class Cases {
  constructor(path) {
    Object.assign(this, JSON.parse(fs.readFileSync(path, 'utf8')));
  }

  /** What is to be read back of a body: all of it but the secrets, and what the server fills in. */
  expected({ body, answered = {} }) {
    return merged(this.plain(without(body, this.secrets)), this.plain(answered));
  }

  /** A form in which equal values are equal: words in small letters, times as instants, durations as seconds. */
  plain(value, name = '') {
    if (Array.isArray(value)) return value.map((one) => this.plain(one, name));
    if (isObject(value)) {
      // `Occurrence` is the one member that some write with a capital.
      const small = (key) => key[0].toLowerCase() + key.slice(1);
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [small(key), this.plain(one, key)]));
    }
    if (this.words.includes(name)) return value.toLowerCase();
    if (this.instants.includes(name)) return instant(value).getTime();
    if (this.durations.includes(name)) return moment.duration(value).asSeconds();
    return value;
  }
}

/** A `Date` always has a zone; what is written without one is meant to be UTC. */
function instant(text) {
  return new Date(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function without(value, names) {
  if (Array.isArray(value)) return value.map((one) => without(one, names));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !names.includes(key));
  return Object.fromEntries(kept.map(([key, one]) => [key, without(one, names)]));
}

/** `value` with the members of `patch`, at every depth. */
function merged(value, patch) {
  if (!isObject(value) || !isObject(patch)) return patch;
  const both = Object.entries(patch).map(([key, one]) => [key, merged(value[key], one)]);
  return { ...value, ...Object.fromEntries(both) };
}

/** Where two values are not the same, as texts. */
function differences(expected, found, path = '') {
  if (isObject(expected) && isObject(found)) {
    const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
    return names.flatMap((name) => differences(expected[name], found[name], path ? `${path}.${name}` : name));
  }
  const [left, right] = [JSON.stringify(expected), JSON.stringify(found)];
  return left === right ? [] : [`${path}: expected ${left}, found ${right}`];
}

module.exports = { Cases, differences, instant, isObject, merged };
