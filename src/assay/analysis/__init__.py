"""Pure functions on arrays, named for what they return."""
