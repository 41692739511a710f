vim.filetype.add({ extension = { ptx = "ptx" } })

vim.api.nvim_create_autocmd("FileType", {
  pattern = "ptx",
  callback = function(event)
    vim.lsp.start({
      name = "ptxspec",
      cmd = { "ptxspec", "lsp" },
      root_dir = vim.fs.dirname(vim.api.nvim_buf_get_name(event.buf)),
    })
    vim.bo[event.buf].omnifunc = "v:lua.vim.lsp.omnifunc"
    vim.bo[event.buf].commentstring = "// %s"
  end,
})
