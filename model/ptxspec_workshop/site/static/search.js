/* The search: what a query finds in search-data.js, best first. Names are looked up as they are written; an instruction's page is
   ranked by how many of the query's modifiers it has; words are matched by MiniSearch. Nothing is fetched. */
(function (root) {
  "use strict";

  /* What is found by its name, the kinds that a reader means most often first. */
  const EXACT = ["insn", "gap", "cuda", "sreg", "dir", "concept", "rule", "type", "space", "mod", "amb", "word"];
  const WEIGHT = { insn: 1.6, page: 1.8, concept: 2.2, cuda: 1.6, sreg: 1.4, rule: 1.5, section: 1, amb: 0.9, word: 0.7, mod: 0.8 };
  const PLACE = { proofs: 0.5, docs: 0.8 };
  const MOST = 50;

  const key = (text) => text.trim().toLowerCase().replace(/[\s\u2010-\u2015]+/g, " ");
  const bare = (text) => text.replace(/^[%.@_]+/, "");

  function tokens(text) {
    return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []).map((word) => word.replace(/^_+/, ""));
  }

  /* "barriers" finds "barrier". */
  function stem(word) {
    return word.length > 4 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word || null;
  }

  /* What MiniSearch writes of an index (its format 2), from the short form in which search-data.js has it. */
  function unpacked({ lengths, words, places }, fields) {
    const numbers = (make) => Object.fromEntries(lengths.map((own, id) => [id, make(own, id)]));
    const term = (packed) => {
      const found = {};
      packed.forEach((own, field) => {
        if (!own) return;
        const postings = (found[field] = {});
        let id = 0;
        for (const one of own) postings[(id += one >> 3)] = one & 7;
      });
      return found;
    };
    return {
      documentCount: lengths.length,
      nextId: lengths.length,
      documentIds: numbers((_, id) => id),
      fieldIds: Object.fromEntries(fields.map((name, i) => [name, i])),
      fieldLength: numbers((own) => own),
      averageFieldLength: fields.map((_, i) => lengths.reduce((sum, own) => sum + own[i], 0) / Math.max(lengths.length, 1)),
      storedFields: {},
      dirtCount: 0,
      index: words.split(" ").map((word, i) => [word, term(places[i])]),
      serializationVersion: 2,
    };
  }

  class Search {
    constructor(data, MiniSearch) {
      const kinds = Object.keys(data.kinds), whole = (anchor) => (anchor.startsWith("#") ? page + anchor : anchor);
      let page = "";
      const address = data.address.map((one) => {
        [page] = whole(one).split("#");
        return whole(one);
      });
      this.data = { ...data, kind: data.kind.map((number) => kinds[number]), address };
      this.exact = new Map();
      this.opcodes = new Map();
      this.data.kind.forEach((kind, id) => this.name(kind, id));
      this.MiniSearch = MiniSearch;
    }

    /* The index of words, made when it is first asked for. */
    get words() {
      const data = this.data;
      this.mini ??= this.MiniSearch.loadJS(unpacked(data.index, data.fields), {
        fields: data.fields,
        tokenize: tokens,
        processTerm: stem,
        searchOptions: {
          boost: { shown: 5, names: 2, about: 2.5 },
          prefix: (term) => term.length > 2,
          fuzzy: (term) => (term.length > 4 ? 0.25 : false),
          weights: { fuzzy: 0.2, prefix: 0.5 },
          boostDocument: (id) => (WEIGHT[data.kind[id]] || 1) * (PLACE[data.address[id].split("/")[0]] || 1),
        },
      });
      return this.mini;
    }

    name(kind, id) {
      const shown = this.data.shown[id], names = this.data.names[id];
      if (!EXACT.includes(kind)) return;
      const title = shown.replace(/ \(.*\)$/, "");
      const own = kind === "insn" ? [title] : kind === "amb" ? [title, ...names.split(" ")] : [title];
      for (const name of own)
        for (const spelled of new Set([key(name), bare(key(name)), key(name).replace(/-/g, " ")])) {
          if (!this.exact.has(spelled)) this.exact.set(spelled, []);
          this.exact.get(spelled).push(id);
        }
      if (kind !== "insn") return;
      for (const opcode of new Set([title.split(".")[0], names.split(" ")[0]])) {
        if (!this.opcodes.has(opcode)) this.opcodes.set(opcode, []);
        this.opcodes.get(opcode).push(id);
      }
    }

    /* Records whose name the query is. */
    named(query) {
      const entry = /^amb[\s-]*0*(\d{1,3})$/.exec(query);
      const spelled = entry ? [`amb-${entry[1].padStart(3, "0")}`] : [query, bare(query)];
      if (/^%?\w+\.[xyzwrgba]$/.test(query)) spelled.push(query.slice(0, -2), bare(query).slice(0, -2));
      const found = new Set(spelled.flatMap((one) => this.exact.get(one) || []));
      const dotted = query.startsWith("."), sign = query.startsWith("%");
      const rank = (id) => {
        const kind = this.data.kind[id];
        const fits = sign ? kind === "sreg" : dotted ? ["dir", "type", "space", "mod"].includes(kind) : false;
        return EXACT.indexOf(kind) - (fits ? 100 : 0);
      };
      return [...found].sort((a, b) => rank(a) - rank(b) || a - b);
    }

    /* Pages of the instruction that a mnemonic begins with: those that have most of its modifiers first. */
    mnemonic(query) {
      const parts = query.split(/[\s;]/)[0].split(".");
      const known = this.opcodes.get(parts[0]);
      if (!known || query.includes(" ") && parts.length < 2 && !/^\w+\s+[%\w[{(]+\s*,/.test(query)) return [];
      const wanted = parts.slice(1).filter(Boolean);
      const scored = known.map((id) => {
        const title = this.data.shown[id].replace(/ \(.*\)$/, "").split(".").slice(1);
        const own = new Set([...title, ...this.data.names[id].split(" ")]);
        const missing = title.filter((word) => !wanted.includes(word)).length;
        const spelled = title.filter((word) => wanted.includes(word)).length;
        const types = wanted.filter((word, i) => own.has(wanted.slice(i).join("."))).length;
        return { id, score: types + 4 * wanted.filter((word) => own.has(word)).length - 2 * missing + spelled };
      });
      return scored.sort((a, b) => b.score - a.score || a.id - b.id).map(({ id }) => id);
    }

    /* The numbers of the records that a query finds, best first; with `names` only those that are found by their names. */
    find(text, names = false) {
      const query = key(text);
      if (!query) return [];
      const ids = [...this.mnemonic(query), ...this.named(query)];
      if (!names) {
        const all = this.words.search(query, { combineWith: "AND" });
        const some = all.length < 5 ? this.words.search(query, { combineWith: "OR" }) : [];
        ids.push(...all.map((hit) => hit.id), ...some.map((hit) => hit.id));
      }
      const places = new Set();
      return [...new Set(ids)].filter((id) => {
        const place = this.data.address[id];
        return !places.has(place) && places.add(place);
      }).slice(0, MOST);
    }

    result(id) {
      const { kind, shown, address, about, kinds } = this.data;
      return { kind: kinds[kind[id]], shown: shown[id], address: address[id], about: about[id] };
    }
  }

  function item(result, base) {
    const line = document.createElement("li"), link = document.createElement("a"), kind = document.createElement("small");
    link.href = base + result.address;
    link.textContent = result.shown;
    kind.textContent = result.kind;
    line.append(link, " ", kind);
    if (result.about) {
      const about = document.createElement("p");
      about.textContent = result.about;
      line.append(about);
    }
    return line;
  }

  function start() {
    const list = document.getElementById("search-results"), box = document.getElementById("search-query");
    if (!list || !box) return;
    const status = document.getElementById("search-status");
    const search = new Search(root.PTXSPEC_SEARCH, root.MiniSearch), base = document.documentElement.dataset.content_root || "./";
    const put = (found) => list.replaceChildren(...found.map((id) => item(search.result(id), base)));
    let waiting = 0;
    const show = () => {
      const began = performance.now();
      const names = search.find(box.value, true);
      put(names);
      list.dataset.milliseconds = names.length ? String(performance.now() - began) : "";
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => setTimeout(() => {
        const found = search.find(box.value);
        put(found);
        status.textContent = box.value.trim() ? `${found.length || "No"} result${found.length === 1 ? "" : "s"}` : "";
        list.dataset.query = box.value;
        list.dataset.milliseconds ||= String(performance.now() - began); // the first result does not change any more
      }));
    };
    box.value = new URLSearchParams(location.search).get("q") || "";
    box.addEventListener("input", () => {
      history.replaceState(null, "", `?q=${encodeURIComponent(box.value)}`);
      show();
    });
    show();
    if (!box.value) box.focus();
  }

  root.PtxspecSearch = Search;
  if (typeof document !== "undefined") {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
  }
})(globalThis);
