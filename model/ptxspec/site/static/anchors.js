/* An address that ends with a mnemonic alone, such as bfe.html#bfe.s32, leads to the first form of that mnemonic. What the address
   leads to may be behind a line that opens it. */
addEventListener("DOMContentLoaded", () => {
  const go = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    if (!name) return;
    const found = document.getElementById(name) || document.querySelector(`i[id^="${CSS.escape(name)}-"]`);
    const hidden = found && found.closest("details:not([open])");
    if (hidden) hidden.open = true;
    if (found && (hidden || found.id !== name)) found.scrollIntoView();
  };
  addEventListener("hashchange", go);
  go();
});
