"""Is the code correct? Checks that hold for every correct potential, whatever system it models."""
