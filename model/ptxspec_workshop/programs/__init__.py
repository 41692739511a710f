"""Programs that run alone: examples of pages, and what these say of themselves."""
