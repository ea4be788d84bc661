"""Pictures: one module per kind, each function returning a matplotlib figure."""
