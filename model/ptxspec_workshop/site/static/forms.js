/* The table of all forms: filtered and shown a page at a time. Its data come as a file of their own. */
(function () {
  "use strict";
  const PAGE = 100;
  const box = document.getElementById("forms-table");
  if (!box) return;

  const version = (text) => text.split(".").reduce((sum, part) => sum * 100 + Number(part), 0);
  const number = (target) => Number((/\d+/.exec(target) || [0])[0]);
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  function unpack({ columns, groups }) {
    const names = Object.keys(columns), found = [];
    for (const group of groups) {
      const shared = Object.fromEntries(names.map((name, i) => [name, columns[name][group[i]]]));
      shared.set = new Set(shared.types.split(/[ +]/).map((type) => type.replace(/^\d+×/, "")));
      shared.version = version(shared.since);
      shared.number = number(shared.target);
      const [first, rests] = group.slice(names.length);
      for (const rest of rests.split(" ")) found.push({ mnemonic: first + rest, shared });
    }
    return found.sort((a, b) => (a.mnemonic < b.mnemonic ? -1 : a.mnemonic > b.mnemonic ? 1 : 0));
  }

  function start({ columns, groups }) {
    const forms = unpack({ columns, groups });
    const asked = new URLSearchParams(location.search);
    const types = [...new Set(forms.flatMap((form) => [...form.shared.set]))].sort();
    const several = (name) => [...new Set(columns[name].flatMap((one) => one.split(", ")))].sort();
    const controls = {
      q: ["Mnemonic", null],
      type: ["Operand type", types],
      since: ["In PTX", [...new Set(columns.since)].sort((a, b) => version(a) - version(b))],
      target: ["On target", [...new Set(columns.target.flatMap((one) => one.split(", ")))].sort((a, b) => number(a) - number(b) || (a < b ? -1 : 1))],
      exactness: ["Result", several("exactness")],
      evidence: ["Evidence", [...columns.evidence].sort()],
    };
    const fields = {}, filters = element("form", { className: "form-filters" });
    for (const [name, [label, options]] of Object.entries(controls)) {
      const field = options
        ? element("select", { name }, element("option", { value: "", textContent: "any" }),
            ...options.map((one) => element("option", { value: one, textContent: one })))
        : element("input", { name, type: "search", placeholder: "setp.lt", autocomplete: "off", spellcheck: false });
      field.value = asked.get(name) || "";
      fields[name] = field;
      filters.append(element("label", {}, `${label} `, field));
    }
    const status = element("p"), body = element("tbody"), pager = element("p", { className: "form-pager" });
    status.setAttribute("role", "status");
    const heads = ["Form", "Operand types", "PTX ISA", "Target", "Result", "Evidence"];
    const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col", textContent: text })));
    const table = element("table", { className: "docutils align-default" }, element("thead", {}, head), body);
    const wrapper = element("div", { className: "table-wrapper docutils container" }, table);
    wrapper.tabIndex = 0;
    wrapper.setAttribute("role", "region");
    wrapper.setAttribute("aria-label", "Forms");
    const before = element("button", { type: "button", textContent: "Previous" });
    const after = element("button", { type: "button", textContent: "Next" });
    pager.append(before, " ", after);
    box.replaceChildren(filters, status, wrapper, pager);
    box.hidden = false;

    let at = 0, found = [];
    const base = document.documentElement.dataset.content_root || "./";

    /* The words of a mnemonic in the order in which they are asked for. */
    function fits(mnemonic, wanted) {
      let from = 0;
      return wanted.every((word, i) => {
        const place = i ? mnemonic.indexOf(word, from) : mnemonic.startsWith(word) ? 0 : -1;
        from = place + word.length;
        return place >= 0;
      });
    }

    function filter() {
      const { q, type, since, target, exactness, evidence } = Object.fromEntries(Object.entries(fields).map(([n, f]) => [n, f.value.trim()]));
      const wanted = q.toLowerCase().split(/(?=\.)|[\s*]+/).filter(Boolean);
      const newest = version(since || "999"), most = target ? number(target) : Infinity;
      const on = (own) => !target || (/[af]/.test(own) ? own.split(", ").includes(target) : number(own) <= most);
      const memo = new Map();
      const shares = (own) => {
        if (!memo.has(own))
          memo.set(own, (!type || own.set.has(type)) && own.version <= newest && on(own.target) &&
            (!exactness || own.exactness.split(", ").includes(exactness)) && (!evidence || own.evidence === evidence));
        return memo.get(own);
      };
      found = forms.filter((form) => shares(form.shared) && fits(form.mnemonic, wanted));
      at = 0;
      const query = new URLSearchParams(Object.entries(fields).filter(([, f]) => f.value).map(([n, f]) => [n, f.value]));
      history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
      show();
    }

    function show() {
      body.replaceChildren(...found.slice(at, at + PAGE).map(({ mnemonic, shared }) => {
        const link = element("a", { href: `${base}${shared.page}#${mnemonic}${shared.anchor}` },
          element("code", { textContent: mnemonic }));
        const operands = shared.operands ? [" ", element("code", { textContent: shared.operands })] : [];
        const cells = [shared.types.replaceAll(" ", ", ").replaceAll("-", " "), shared.since, shared.target, shared.exactness, shared.evidence];
        return element("tr", {}, element("td", {}, link, ...operands), ...cells.map((text) => element("td", { textContent: text })));
      }));
      const last = Math.min(at + PAGE, found.length);
      status.textContent = found.length ? `${(at + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${found.length.toLocaleString("en")} forms` : "No form";
      before.disabled = at === 0;
      after.disabled = last === found.length;
    }

    const turn = (step) => () => {
      at += step;
      show();
      wrapper.scrollIntoView({ block: "nearest" });
    };
    before.addEventListener("click", turn(-PAGE));
    after.addEventListener("click", turn(PAGE));
    filters.addEventListener("input", filter);
    filters.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  const data = document.createElement("script");
  data.src = `${document.documentElement.dataset.content_root || "./"}_static/forms-data.js`;
  data.addEventListener("load", () => start(globalThis.PTXSPEC_FORMS));
  document.head.append(data);
})();
