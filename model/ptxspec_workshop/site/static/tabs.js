// The tables of corner cases as tabs, one a form. Without this script all of them are shown, one below the other.
(() => {
  const label = (holder) => {
    const code = holder.querySelector("caption code");
    return (code || holder.querySelector("caption")).textContent.trim();
  };

  const arrange = (box, number) => {
    const panels = [...box.querySelectorAll(":scope > .table-wrapper")].filter((p) => p.querySelector("caption"));
    if (panels.length < 2) return;
    const names = panels.map(label), short = names.map((n) => n.split(/\s/)[0]);
    const list = document.createElement("div");
    list.className = "tabs";
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Forms");
    const tabs = panels.map((panel, i) => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.id = `form-${number}-${i}`;
      tab.textContent = short.indexOf(short[i]) === short.lastIndexOf(short[i]) ? short[i] : names[i];
      tab.setAttribute("role", "tab");
      panel.id = panel.id || `forms-${number}-${i}`;
      tab.setAttribute("aria-controls", panel.id);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      panel.tabIndex = 0;
      list.append(tab);
      return tab;
    });
    const choose = (chosen) => tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
      panels[i].hidden = i !== chosen;
    });
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    list.addEventListener("click", (event) => {
      const at = tabs.indexOf(event.target.closest("button"));
      if (at >= 0) choose(at);
    });
    list.addEventListener("keydown", (event) => {
      const step = steps[event.key], at = tabs.indexOf(document.activeElement);
      if (step === undefined || at < 0) return;
      const next = Number.isFinite(step) ? (at + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1;
      choose(next);
      tabs[next].focus();
      event.preventDefault();
    });
    box.insertBefore(list, panels[0]);
    choose(0);
  };

  const start = () => document.querySelectorAll(".computed.corner-cases").forEach(arrange);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
