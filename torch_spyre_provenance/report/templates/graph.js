"use strict";
// The recorded graph: entities by number, the edges between them, and questions about
// both.

const WORDS = { m: "measured", i: "inferred", x: "missing" };
const MARKS = { m: "M", i: "I", x: "?" };

class Graph {
  constructor(data, order) {
    this.data = data;
    this.order = order;
    this.first = {};
    this.size = 0;
    for (const column of order) {
      this.first[column] = this.size;
      this.size += data.columns[column].names.length;
    }
    this.columnNumber = new Uint8Array(this.size);
    order.forEach((column, number) => {
      const start = this.first[column];
      this.columnNumber.fill(number, start, start + data.columns[column].names.length);
    });
    this.starts = sums(data.edges.start);
    this.ends = sums(data.edges.end);
    this.out = adjacency(this.starts, this.size);
    this.into = adjacency(this.ends, this.size);
    this.texts = null;
    this.kernelOf = this.kernels();
  }

  column(entity) {
    return this.order[this.columnNumber[entity]];
  }

  /** Return the value of an entity in one of its column's arrays. */
  value(entity, name) {
    const column = this.column(entity);
    const values = this.data.columns[column][name];
    return values ? values[entity - this.first[column]] : undefined;
  }

  /** Return the text that an entity's array has the number of; "" for none. */
  text(entity, name) {
    return this.string(this.value(entity, name));
  }

  string(number) {
    return number === undefined || number < 0 ? "" : this.data.strings[number];
  }

  name(entity) {
    return this.value(entity, "names");
  }

  evidence(entity) {
    return this.data.evidence[entity];
  }

  /** Return the number of the kernel of each op and file; -1 elsewhere. */
  kernels() {
    const numbers = new Int32Array(this.size).fill(-1);
    let op = this.first.op_spec;
    let file = this.first.super_dsc;
    this.data.kernels.forEach((kernel, number) => {
      numbers.fill(number, op, op + kernel.ops);
      numbers.fill(number, file, file + kernel.files);
      op += kernel.ops;
      file += kernel.files;
    });
    return numbers;
  }

  kernelName(entity) {
    const number = this.kernelOf[entity];
    return number < 0 ? "" : this.data.kernels[number].name;
  }

  /** Mark everything that these entities came from and everything they became. */
  lineage(entities) {
    const marks = new Uint8Array(this.size);
    this.walk(entities, marks, this.into, this.starts);
    this.walk(entities, marks, this.out, this.ends);
    return marks;
  }

  walk(entities, marks, { first, edges }, others) {
    const seen = new Uint8Array(this.size);
    const ways = [...entities];
    for (const entity of ways) seen[entity] = marks[entity] = 1;
    while (ways.length) {
      const entity = ways.pop();
      for (let at = first[entity]; at < first[entity + 1]; at++) {
        const other = others[edges[at]];
        if (!seen[other]) {
          seen[other] = marks[other] = 1;
          ways.push(other);
        }
      }
    }
  }

  /** Return the numbers of the edges that leave an entity. */
  leaving(entity) {
    return this.out.edges.subarray(this.out.first[entity], this.out.first[entity + 1]);
  }

  entering(entity) {
    return this.into.edges.subarray(
      this.into.first[entity],
      this.into.first[entity + 1],
    );
  }

  /** Return the entities that meet every word of a query; see `wordTest`. */
  search(query) {
    const tests = query.trim().split(/\s+/).filter(Boolean).map((w) => this.wordTest(w));
    if (!tests.length) return null;
    const found = [];
    for (let entity = 0; entity < this.size; entity++) {
      if (tests.every((test) => test(entity))) found.push(entity);
    }
    return found;
  }

  /** Return the test for `key:value`, or for a word that is somewhere in the texts. */
  wordTest(word) {
    const [, key, value] = /^(\w+):(.+)$/.exec(word.toLowerCase()) || [];
    const has = (text) => text.toLowerCase().includes(value);
    switch (key) {
      case "evidence":
        return (e) => WORDS[this.evidence(e)] === value && this.columnNumber[e] > 0;
      case "module":
        return (e) => isInside(this.text(e, "module").toLowerCase(), value);
      case "kernel":
        return (e) => has(this.kernelName(e));
      case "handle":
        return (e) => this.value(e, "handle") === value;
      case "op":
        return (e) =>
          this.column(e) === "op_spec" && (has(this.name(e)) || has(this.text(e, "note")));
      case "line":
        return (e) =>
          this.column(e) === "source" && `:${this.name(e)}`.endsWith(`:${value}`);
      default:
        return (e) => this.searched(e).includes(word.toLowerCase());
    }
  }

  searched(entity) {
    if (this.texts === null) this.texts = new Array(this.size);
    this.texts[entity] ??= [
      this.name(entity),
      this.text(entity, "note"),
      this.text(entity, "module"),
      this.text(entity, "buffer"),
      this.value(entity, "handle") || "",
      this.kernelName(entity),
    ]
      .join("\n")
      .toLowerCase();
    return this.texts[entity];
  }

  /** Return the link that stands for an entity: its column, and its name there. */
  link(entity) {
    const column = this.column(entity);
    if (column === "op_spec") {
      return `op=${this.kernelName(entity)}:${this.value(entity, "path")}`;
    }
    const kernel = column === "super_dsc" ? `${this.kernelName(entity)}/` : "";
    return `${column === "source" ? "line" : column}=${kernel}${this.name(entity)}`;
  }

  /** Return the entity that a link stands for, or -1. */
  follow(link) {
    const at = link.indexOf("=");
    const key = link.slice(0, at);
    const column = { op: "op_spec", line: "source" }[key] || key;
    if (at < 0 || !(column in this.first)) return -1;
    const start = this.first[column];
    const end = start + this.data.columns[column].names.length;
    for (let entity = start; entity < end; entity++) {
      if (this.link(entity) === link) return entity;
    }
    return -1;
  }
}

function isInside(module, path) {
  return module === path || module.startsWith(`${path}.`);
}

/** Undo differences: return each number as the sum of those up to it. */
function sums(differences) {
  const result = new Int32Array(differences.length);
  let sum = 0;
  differences.forEach((difference, n) => (result[n] = sum += difference));
  return result;
}

/** Return the edges by the entity at one of their ends. */
function adjacency(ends, size) {
  const first = new Int32Array(size + 1);
  for (const entity of ends) first[entity + 1]++;
  for (let n = 0; n < size; n++) first[n + 1] += first[n];
  const next = first.slice();
  const edges = new Int32Array(ends.length);
  ends.forEach((entity, edge) => (edges[next[entity]++] = edge));
  return { first, edges };
}

/** Make an element; strings among the children become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
