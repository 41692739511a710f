"""Documents become modules: MyST pages whose Python fences are imported, linted and covered as what they are."""
