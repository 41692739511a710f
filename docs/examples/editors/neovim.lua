vim.filetype.add({ extension = { ptx = "ptx" } })

vim.lsp.config("ptxspec", {
  cmd = { "ptxspec", "lsp" },
  filetypes = { "ptx" },
  root_markers = { ".git" },
})
vim.lsp.enable("ptxspec")
