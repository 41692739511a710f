/* An address that ends with a mnemonic alone, such as bfe.html#bfe.s32, leads to the first form of that mnemonic. Where a pattern
   stands for many forms, it is where the address of each leads. What the address leads to may be behind a line that opens it. */
addEventListener("DOMContentLoaded", () => {
  const among = (name) => (pattern) => {
    const mnemonic = pattern.textContent.replaceAll(".", "\\."), operands = pattern.dataset.operands;
    return new RegExp(`^(?:${mnemonic})(?:-${operands})?$`).test(name);
  };
  const go = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    if (!name) return;
    const found = document.getElementById(name) || document.querySelector(`i[id^="${CSS.escape(name)}-"]`) ||
      [...document.querySelectorAll("i[data-operands]")].find(among(name));
    const hidden = found && found.closest("details:not([open])");
    if (hidden) hidden.open = true;
    if (found && (hidden || found.id !== name)) found.scrollIntoView();
    for (const one of document.querySelectorAll("i.found")) one.classList.remove("found");
    if (found && found.dataset.operands !== undefined) found.classList.add("found");
  };
  for (const link of document.querySelectorAll("a.headerlink")) link.title = "Link to this place";
  addEventListener("hashchange", go);
  go();
});
