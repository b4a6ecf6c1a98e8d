"""Reference data: embedded sets, published ones that are fetched, and the user's own; all become records."""
