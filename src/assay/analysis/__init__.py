"""Pure functions on arrays; each is named after its result."""
